package preflight

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/linux"
	"zbench/test/mutate"
)

// The examples of NCCL's guide, and what RCCL's code does with the rest.
func TestNames(t *testing.T) {
	all := []string{"eth0", "eth1", "docker0", "docker1", "lo", "ib0"}
	for list, want := range map[string]string{
		"eth":         "eth0 eth1",
		"=eth0":       "eth0",
		"=eth0,eth1":  "eth0 eth1",
		"^docker":     "eth0 eth1 lo ib0",
		"^=docker0":   "eth0 eth1 docker1 lo ib0",
		"^docker,lo":  "eth0 eth1 ib0",
		"=eth":        "",
		"":            "eth0 eth1 docker0 docker1 lo ib0",
		"^":           "",
		"eth0, eth1":  "eth0", // a space is part of the name
		"=^eth0":      "",
		",,eth1,":     "eth1",
		":1,eth1":     "eth1",
		"ib:1,docker": "docker0 docker1 ib0", // interfaces have no ports
	} {
		l := parseNames(list, maxInterfaces)
		var got []string
		for _, name := range all {
			if l.match(name, -1) {
				got = append(got, name)
			}
		}
		require.Equal(t, want, strings.Join(got, " "), "%q", list)
	}
	hcas := parseNames("=mlx5_0:1,mlx5_1:2,mlx5_2:x", maxHCAs)
	require.True(t, hcas.match("mlx5_0", 1))
	require.False(t, hcas.match("mlx5_0", 2))
	require.True(t, hcas.match("mlx5_1", 2))
	require.False(t, hcas.match("mlx5_2", 1), "atoi makes 0 of x")
	require.False(t, hcas.match("mlx5_10", 1))
	many := parseNames(strings.Repeat("a,", maxHCAs)+"b", maxHCAs)
	require.False(t, many.match("b", 1), "RCCL ignores what is beyond its table")
}

// What a list and its negation choose is everything, once; and a name chosen exactly is
// chosen by prefix too.
func TestChangedNames(t *testing.T) {
	mutate.Each(t, 1, 500, []string{"eth0,mlx5_1:1", "ib", "a:99999999999999999999"}, func(t *testing.T, list string) {
		if list = strings.TrimLeft(list, "^="); strings.HasPrefix(list, "^") || strings.HasPrefix(list, "=") {
			return
		}
		for _, name := range []string{"eth0", "ib0", "a", "mlx5_1"} {
			for _, port := range []int{-1, 1} {
				plain, not := parseNames(list, maxHCAs).match(name, port), parseNames("^"+list, maxHCAs).match(name, port)
				require.NotEqual(t, plain, not)
				exact, notExact := parseNames("="+list, maxHCAs).match(name, port), parseNames("^="+list, maxHCAs).match(name, port)
				require.NotEqual(t, exact, notExact)
				require.True(t, plain || !exact)
			}
		}
	})
}

func gids(rows ...string) (table []linux.GID) {
	for i, row := range rows {
		addr, kind, _ := strings.Cut(row, " ")
		table = append(table, linux.GID{Index: i, Addr: linux.ParseGID(addr), RoCE: linux.ParseGIDType(kind)})
	}
	return table
}

// What RCCL takes of tables as NICs have them.
func TestGIDChoice(t *testing.T) {
	// A ConnectX with an IPv4 and an IPv6 address (Juniper's JVD for AI data centres, appendix A).
	connectx := gids("fe80::a288:c2ff:fe3b:506a IB/RoCE v1", "fe80::a288:c2ff:fe3b:506a RoCE v2",
		"::ffff:10.200.1.10 IB/RoCE v1", "::ffff:10.200.1.10 RoCE v2",
		"2010:200:0:2:a288:c2ff:fe3b:506a IB/RoCE v1", "2010:200:0:2:a288:c2ff:fe3b:506a RoCE v2")
	// RoCE v2 is index 1 on Pollara: its driver has no entries of v1.
	pollara := gids("fe80::690:81ff:fe2c:4f90 RoCE v2", "::ffff:10.1.1.1 RoCE v2", "::", "::")
	for _, x := range []struct {
		what  string
		rule  gidRule
		table []linux.GID
		want  int
	}{
		{"IPv4", gidRule{index: -1, roce: 2}, connectx, 3},
		{"IPv6", gidRule{index: -1, roce: 2, six: true}, connectx, 5},
		{"RoCE v1", gidRule{index: -1, roce: 1}, connectx, 2},
		{"another range", gidRule{index: -1, roce: 2, within: netip.MustParsePrefix("10.9.0.0/16")}, connectx, 0},
		{"this range", gidRule{index: -1, roce: 2, within: netip.MustParsePrefix("10.200.0.0/16")}, connectx, 3},
		{"given", gidRule{index: 2, roce: 2}, connectx, 2},
		{"Pollara", gidRule{index: -1, roce: 2}, pollara, 1},
		{"IPv6 beside a link's", gidRule{index: -1, roce: 2, six: true}, gids("fe80::1 RoCE v2", "2010::1 RoCE v2"), 1},
		{"no address", gidRule{index: -1, roce: 2}, gids("fe80::1 RoCE v2"), 0},
		{"no table", gidRule{index: -1, roce: 2}, nil, 0},
	} {
		require.Equal(t, x.want, x.rule.choose(x.table), x.what)
	}
	require.Equal(t, 3, better(connectx))
	require.Equal(t, 1, better(pollara))
	require.Equal(t, -1, better(gids("fe80::1 RoCE v2")))
	require.Equal(t, 0, better(gids("2010::1 RoCE v2")))
}

// The settings, and the default of RCCL before 2.21, which was entry 0.
func TestGIDRule(t *testing.T) {
	of := func(version string, settings map[string]string) gidRule {
		return gidRuleOf(func(name string) string { return settings[name] }, version)
	}
	require.Equal(t, gidRule{index: -1, roce: 2}, of("2.22.3", nil))
	require.Equal(t, gidRule{index: -1, roce: 2}, of("", nil))
	require.Equal(t, gidRule{index: 0, roce: 2}, of("2.20.5", nil))
	require.Equal(t, gidRule{index: 3, roce: 2}, of("2.20.5", map[string]string{"NCCL_IB_GID_INDEX": "3"}))
	require.Equal(t, gidRule{index: -1, roce: 2}, of("2.22.3", map[string]string{"NCCL_IB_GID_INDEX": "-1"}))
	require.Equal(t, gidRule{index: -1, roce: 1, six: true}, of("2.22.3", map[string]string{"NCCL_IB_ADDR_FAMILY": "AF_INET6", "NCCL_IB_ROCE_VERSION_NUM": "1", "NCCL_IB_ADDR_RANGE": "10.0.0.0/8"}))
	require.Equal(t, netip.MustParsePrefix("10.0.0.0/8"), of("2.22.3", map[string]string{"NCCL_IB_ADDR_RANGE": "10.0.0.0/8"}).within)
}

// Without NCCL_SOCKET_IFNAME: ib first, then what is neither docker nor lo, then those.
func TestBootstrapChoice(t *testing.T) {
	v4, v6 := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2010::1")
	lo := Interface{"lo", []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}}
	eth, ib, docker := Interface{"eth0", []netip.Addr{v4}}, Interface{"ib0", []netip.Addr{v4}}, Interface{"docker0", []netip.Addr{v4}}
	six := Interface{"net6", []netip.Addr{v6}}
	for _, x := range []struct {
		settings string
		all      []Interface
		want     string
	}{
		{"", []Interface{lo, docker, eth, ib}, "ib0"},
		{"", []Interface{lo, docker, eth}, "eth0"},
		{"", []Interface{lo, docker}, "docker0"},
		{"", []Interface{lo}, "lo"},
		{"", []Interface{six, eth}, "eth0"},
		{"", []Interface{{"down", nil}}, ""},
		{"NCCL_SOCKET_FAMILY=AF_INET6", []Interface{lo, eth, six}, "net6"},
		{"NCCL_SOCKET_IFNAME=^ib", []Interface{lo, eth, ib}, "lo"},
		{"NCCL_SOCKET_IFNAME=x", []Interface{lo, eth}, "eth0"}, // one letter counts as none
		{"NCCL_SOCKET_IFNAME=xy", []Interface{lo, eth}, ""},
	} {
		name, value, _ := strings.Cut(x.settings, "=")
		h := Host{Interfaces: func() ([]Interface, error) { return x.all, nil }, Getenv: func(n string) string {
			if n == name {
				return value
			}
			return ""
		}}
		require.Equal(t, x.want, h.bootstrap().Chosen, "%+v", x)
	}
	h := Host{Interfaces: func() ([]Interface, error) { return []Interface{lo, eth}, nil }, Getenv: func(n string) string {
		return map[string]string{"NCCL_COMM_ID": "10.0.0.1:9999"}[n]
	}}
	require.NotEmpty(t, h.bootstrap().Unknown)
}
