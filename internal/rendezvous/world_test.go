package rendezvous_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/rendezvous"
	"zbench/test/longtest"
)

// TestMain is a follower if the environment says so.
func TestMain(m *testing.M) {
	if os.Getenv("RENDEZVOUS_CROWD") != "" {
		must(crowd())
		os.Exit(0)
	}
	if process := os.Getenv("RENDEZVOUS_PROCESS"); process != "" {
		if err := child(process); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "process", process+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(process string) error {
	n, err := strconv.Atoi(process)
	if err != nil {
		return err
	}
	processes, err := strconv.Atoi(os.Getenv("RENDEZVOUS_PROCESSES"))
	if err != nil {
		return err
	}
	token, err := rendezvous.ParseToken(os.Getenv(rendezvous.TokenVariable))
	if err != nil {
		return err
	}
	o := patient(rendezvous.Member{Token: token, Address: os.Getenv("RENDEZVOUS_ADDRESS"), Self: self(n, processes)})
	if os.Getenv("RENDEZVOUS_RELAY") != "" {
		o.Relay = token.LocalAddress(o.Self.Host)
	}
	p := &toy{first: n, ranks: 1}
	if os.Getenv("RENDEZVOUS_DIES") == process {
		p.before = func(call int) {
			if call == 3 {
				os.Exit(7)
			}
		}
	}
	return follow(context.Background(), o, p)
}

// children starts the followers as processes. The function waits for them.
func children(t *testing.T, token rendezvous.Token, address string, n int, environment ...string) func() error {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	var all []*exec.Cmd
	var said strings.Builder
	out := &locked{to: &said}
	for process := 1; process < n; process++ {
		c := exec.CommandContext(t.Context(), self)
		c.Env = append(slices.Clone(environment), "RENDEZVOUS_PROCESS="+strconv.Itoa(process), "RENDEZVOUS_PROCESSES="+strconv.Itoa(n),
			"RENDEZVOUS_ADDRESS="+address, rendezvous.TokenVariable+"="+token.Reveal())
		c.Stderr = out
		require.NoError(t, c.Start())
		all = append(all, c)
	}
	return func() error {
		for _, c := range all {
			_ = c.Wait()
		}
		if said.Len() > 0 {
			return fmt.Errorf("%s", said.String())
		}
		return nil
	}
}

// A world of any number of processes has the record of one process, whether each is
// connected to the leader or through its node's first process.
func TestWorldIsOneProcess(t *testing.T) {
	for _, n := range []int{1, 2, 16, 64} {
		for _, relayed := range []bool{false, true} {
			t.Run(fmt.Sprint(n, relayed), func(t *testing.T) {
				token := rendezvous.NewToken()
				var address string
				options := func(process int) rendezvous.Member {
					o := patient(rendezvous.Member{Token: token, Self: self(process, n), Address: address})
					if relayed {
						o.Relay = token.LocalAddress(o.Self.Host)
					}
					return o
				}
				l, at := serve(t, options(0))
				address = at
				left := followers(t, n, options)
				require.Equal(t, oracle(n), lead(t, l, &toy{ranks: 1}, n))
				allLeave(t, left, n)
				counts, _ := l.Refusals()
				require.Empty(t, counts)
			})
		}
	}
}

// Real processes, as a launcher starts them.
func TestLongProcessesAreOneProcess(t *testing.T) {
	longtest.OnlyOrDetected(t)
	for _, environment := range []string{"", "RENDEZVOUS_RELAY=1"} {
		processesAreOne(t, 8, environment)
		processesAreOne(t, 16, environment)
	}
}

func TestLongManyProcessesAreOneProcess(t *testing.T) {
	longtest.Only(t)
	processesAreOne(t, 64, "")
	processesAreOne(t, 64, "RENDEZVOUS_RELAY=1")
}

func processesAreOne(t *testing.T, n int, environment string) {
	t.Helper()
	o := patient(rendezvous.Member{Token: rendezvous.NewToken(), Self: self(0, n)})
	if environment != "" {
		o.Relay = o.Token.LocalAddress(o.Self.Host)
	}
	l, at := serve(t, o)
	wait := children(t, o.Token, at, n, environment)
	require.Equal(t, oracle(n), lead(t, l, &toy{ranks: 1}, n))
	require.NoError(t, wait())
}
