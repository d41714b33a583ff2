package flush

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/plain"
	"zbench/test/project"
)

type env map[string]string

func (e env) get(name string) string { return e[name] }

// Every cell that is known has a source, and the versions of a transport's rows follow each other without a gap.
func TestTableIsWhole(t *testing.T) {
	ends := map[string]string{}
	for _, r := range table().Rows {
		name := r.Transport + " " + r.From
		require.NotEmpty(t, r.Title, name)
		require.NotEmpty(t, r.Advice, name)
		for what, c := range map[string]Cell{"default": r.Default, "honoured": r.Honoured, "ordering": r.Ordering, "fence": r.Fence, "hang": r.Hang} {
			require.Equal(t, c.Is == "", c.Source == "", "%s: %s", name, what)
		}
		require.Contains(t, []string{"0", "1"}, r.Default.Is, name)
		require.Contains(t, []string{"yes", "no"}, r.Honoured.Is, name)
		require.Contains(t, []string{"0", "1", ""}, r.Ordering.Is, name)
		require.Contains(t, []string{"present", "lost", ""}, r.Fence.Is, name)
		require.Contains(t, []string{"yes", ""}, r.Hang.Is, name)
		require.Equal(t, ends[r.Transport], r.From, name)
		require.True(t, r.Before == "" || plain.Version(r.From, r.Before) < 0, name)
		ends[r.Transport] = r.Before
	}
	require.Contains(t, Cost(), "not stated")
}

func TestReleases(t *testing.T) {
	for rocm, want := range map[string]string{"7.14.0": "2.30.4", "7.14": "2.30.4", "7.13.1": "2.28.3", "7.1.1-38": "2.27.7", "7.3.0": "", "10.0.0": "2.30.4", "": "", "7": ""} {
		require.Equal(t, want, Release(rocm), rocm)
	}
}

// The state follows from transport, version and variables.
func TestStates(t *testing.T) {
	const anp, cast, rocm, ib = "NCCL_NET_PLUGIN=librccl-anp.so", "NCCL_NET=IB-CAST", "RCCL_AINIC_ROCE=1", "NCCL_NET=IB"
	for _, c := range []struct {
		rccl, net, disable string
		other              bool // no Pollara
		transport          string
		want               State
	}{
		{rccl: "2.27.7", net: rocm, transport: "ROCM-IB", want: Off},
		{rccl: "2.27.7", net: rocm, disable: "0", transport: "ROCM-IB", want: Off}, // overwritten
		{rccl: "2.28.3", net: "NCCL_NET=rocm-ib", disable: "0", transport: "ROCM-IB", want: Off},
		{rccl: "2.27.7", transport: "IB", want: On},
		{rccl: "2.27.7", disable: "1", transport: "IB", want: Off},
		{rccl: "2.28.3", net: cast, transport: "IB-CAST", want: Off},
		{rccl: "2.28.3", net: "NCCL_NET=ib-cast", disable: "0", transport: "IB-CAST", want: Off}, // before #7036
		{rccl: "2.28.3", want: Unknown},
		{rccl: "2.28.3", disable: "1", want: Off},
		{rccl: "2.30.4", transport: "IB-CAST", want: Off},
		{rccl: "2.30.4", net: rocm, transport: "IB-CAST", want: Off},
		{rccl: "2.30.4", disable: "0", transport: "IB-CAST", want: On}, // since #7036
		{rccl: "2.30.7", disable: "0", transport: "IB-CAST", want: On},
		{rccl: "2.30.4", net: "RCCL_AINIC_ROCE=0", transport: "IB", want: On},
		{rccl: "2.30.4", net: ib, transport: "IB", want: On},
		{rccl: "2.30.4", net: ib, disable: "1", transport: "IB", want: Off},
		{rccl: "2.31.2", disable: "0", transport: "IB-CAST", want: On},
		{rccl: "2.31.2", transport: "IB-CAST", want: Off},
		{rccl: "2.26.6", net: anp, transport: "ANP", want: On},
		{rccl: "2.30.4", net: anp, disable: "1", transport: "ANP", want: Off},
		{rccl: "2.30.4", net: "NCCL_NET_PLUGIN=librccl-net.so", want: Unknown},
		{rccl: "2.30.4", net: "NCCL_NET_PLUGIN=none", transport: "IB-CAST", want: Off},
		{rccl: "2.30.4", net: "NCCL_NET=Socket", want: Unused},
		{rccl: "2.30.4", net: "NCCL_IB_DISABLE=1", disable: "1", want: Unused},
		{rccl: "2.30.4", net: "NCCL_NET=AWS Libfabric", want: Unknown},
		{rccl: "", net: cast, disable: "0", want: Unknown},
		{rccl: "2.30.4", other: true, want: Unknown},
		{rccl: "2.30.4", other: true, disable: "1", want: Off},
		{rccl: "2.30.4", other: true, net: ib, transport: "IB", want: On},
	} {
		vars := env{Variable: c.disable}
		if c.net != "" {
			for i := range c.net {
				if c.net[i] == '=' {
					vars[c.net[:i]] = c.net[i+1:]
				}
			}
		}
		state, row := Of(c.rccl, !c.other, vars.get)
		require.Equal(t, c.want, state, "%+v", c)
		require.Equal(t, c.transport != "", row != nil, "%+v", c)
		if row != nil {
			require.Equal(t, c.transport, row.Transport, "%+v", c)
			require.True(t, plain.Version(c.rccl, row.From) >= 0 && (row.Before == "" || plain.Version(c.rccl, row.Before) < 0), "%+v", c)
		}
	}
}

// document is the table and its sources as docs/POLLARA.md has them.
func document() string {
	var b strings.Builder
	b.WriteString("| transport | RCCL | `NCCL_GDR_FLUSH_DISABLE` if not set | honoured | `RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING` if not set | fence | hang |\n|---|---|---|---|---|---|---|\n")
	cells := func(r Row) []Cell { return []Cell{r.Default, r.Honoured, r.Ordering, r.Fence, r.Hang} }
	for _, r := range table().Rows {
		versions := "all"
		switch {
		case r.From != "" && r.Before != "":
			versions = r.From + " to before " + r.Before
		case r.From != "":
			versions = "from " + r.From
		case r.Before != "":
			versions = "before " + r.Before
		}
		fmt.Fprintf(&b, "| %s | %s |", r.Transport, versions)
		for _, c := range cells(r) {
			fmt.Fprintf(&b, " %s |", cmp.Or(c.Is, "not known"))
		}
		b.WriteString("\n")
	}
	last := map[string]string{} // a line holds until the same transport has another of its name
	write := func(transport, name, line string) {
		if last[transport+name] != line {
			b.WriteString(line)
		}
		last[transport+name] = line
	}
	for _, r := range table().Rows {
		fmt.Fprintf(&b, "\n**%s%s.** %s.\n\n", r.Transport, strings.TrimSuffix(" from "+r.From, " from "), r.Title)
		for i, name := range []string{"Default", "Honoured", "Ordering", "Fence", "Hang"} {
			if c := cells(r)[i]; c.Is != "" {
				write(r.Transport, name, fmt.Sprintf("* %s %s: %s.\n", name, c.Is, c.Source))
			}
		}
		write(r.Transport, "Advice", fmt.Sprintf("* Advice: %s.\n", r.Advice))
	}
	return b.String()
}

// The document has the table as it is. `go test ./bench/hardware/flush -run TestDocument` prints what is missing.
func TestDocument(t *testing.T) {
	require.Contains(t, project.Read(t, "docs/POLLARA.md"), document())
	require.Contains(t, project.Read(t, "docs/POLLARA.md"), Cost())
}
