package ras_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/internal/ras"
	"zbench/test/rastest"
)

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return text
}

// The answers have the form of the recorded ones of RCCL 2.28.3 in ROCm/cvs (healthy,
// incomplete), of those in NCCL's user guide (mismatch), and of what NCCL's
// src/ras/client_support.cc writes.
func TestParse(t *testing.T) {
	for name, want := range map[string]struct {
		state record.WitnessState
		text  string
	}{
		"healthy.txt":    {record.WitnessHealthy, " (version 2.28.3) reports no missing or late rank"},
		"incomplete.txt": {record.WitnessDegraded, " (version 2.28.3) reports rank 6 of communicator 3b2fe521bf43bc04 (GPU 6 process 3467978 on 192.0.2.77) missing"},
		"mismatch.txt":   {record.WitnessDegraded, " (version 2.28.3) reports rank 7 of communicator 27a079b828ff1a75 (GPU 7 (NVML 5) process 483079 on 192.0.2.10) behind: operation 6648 of 6650"},
		"dead.txt": {record.WitnessDegraded, " (version 2.28.3) reports a process (GPU 4,5 process 3487984 on 192.0.2.13) dead; " +
			"rank 3 of communicator 488feb6f1c97a0e1 (GPU 3 process 12 on 192.0.2.12) error: reports Remote process error"},
		"healthy.json":  {record.WitnessHealthy, " (version 2.28.9) reports no missing or late rank"},
		"degraded.json": {record.WitnessDegraded, degraded},
		"nocomma.json":  {record.WitnessDegraded, degraded}, // as 2.28.9 writes it
	} {
		w, err := ras.Parse(recorded(t, name))
		require.NoError(t, err, name)
		require.Equal(t, want.state, w.State, name)
		require.Equal(t, want.text, w.Text(), name)
		require.NotEmpty(t, w.Communicators, name)
	}
	w, err := ras.Parse(recorded(t, "dead.txt"))
	require.NoError(t, err)
	require.Equal(t, []record.WitnessComm{{Count: 1, Ranks: 16, Answered: 15, Status: "INCOMPLETE,ERROR"}}, w.Communicators)
	w, err = ras.Parse(recorded(t, "degraded.json"))
	require.NoError(t, err)
	require.Equal(t, []record.WitnessComm{{ID: "0x3b2fe521bf43bc04", Count: 1, Ranks: 6, Answered: 4, Status: "INCOMPLETE,ERROR,MISMATCH"}}, w.Communicators)
}

const degraded = " (version 2.28.9) reports rank 5 of communicator 0x3b2fe521bf43bc04 (GPU 5) dead; rank 4 of communicator 0x3b2fe521bf43bc04 (GPU 4) missing; " +
	"rank 2 of communicator 0x3b2fe521bf43bc04 (GPU 2 process 102 on 192.0.2.1) error: error 6; " +
	"rank 1 of communicator 0x3b2fe521bf43bc04 (GPU 1 process 101 on 192.0.2.1) behind: AllReduce 60 of 64"

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "{}", "read socket: Connection reset by peer\n", "RCCL version 2.28.3\n", `{"nccl_version":"2","communicators":[{"size":-1}]}`, `{"nccl_version":"2.28.9"}`, `{"communicators":[]}`} {
		_, err := ras.Parse([]byte(text))
		require.ErrorContains(t, err, "not an answer of RAS", text)
	}
}

// Many ranks are cut, the strongest signs first, and counted.
func TestManyRanks(t *testing.T) {
	var ranks []record.WitnessRank
	for i := range 100 {
		ranks = append(ranks, record.WitnessRank{State: record.RankBehind, Rank: &i})
	}
	ranks = append(ranks, record.WitnessRank{State: record.RankDead, PID: 3})
	w := &record.Witness{Source: "RAS", State: record.WitnessDegraded}
	w.SetRanks(ranks)
	require.Len(t, w.Ranks, record.MostWitnessed)
	require.Equal(t, 101-record.MostWitnessed, w.More)
	require.Equal(t, "RAS reports a process (process 3) dead; rank 0 behind; rank 1 behind; rank 2 behind; 97 more", w.Text())
}

// service answers as RAS does; json tells whether it knows that format.
func service(t *testing.T, answer []byte, json bool) ras.Dial {
	t.Helper()
	return func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go rastest.Serve(there, answer, json)
		return here, nil
	}
}

func TestAsk(t *testing.T) {
	w := ras.Ask(context.Background(), service(t, recorded(t, "degraded.json"), true), "")
	require.Equal(t, "RAS at localhost:28028"+degraded, w.Text())
	w = ras.Ask(context.Background(), service(t, recorded(t, "incomplete.txt"), false), "[::1]:7000") // before 2.28.7
	require.Equal(t, record.WitnessDegraded, w.State)
	require.Equal(t, "RAS at [::1]:7000", w.Source)
}

// The same over TCP, in both forms.
func TestAskOverTCP(t *testing.T) {
	for name, json := range map[string]bool{"degraded.json": true, "incomplete.txt": false} {
		address, end, err := rastest.Listen(recorded(t, name), json)
		require.NoError(t, err)
		w := ras.Ask(context.Background(), (&net.Dialer{}).DialContext, address)
		require.Equal(t, record.WitnessDegraded, w.State, w.Reason)
		require.Equal(t, "RAS at "+address, w.Source)
		end()
		require.Equal(t, record.WitnessAbsent, ras.Ask(context.Background(), (&net.Dialer{}).DialContext, address).State)
	}
}

// Without a service, or with one that is none or breaks off, there is no witness and its
// reason.
func TestAskWithoutAnAnswer(t *testing.T) {
	refused := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") }
	require.Equal(t, "no second witness: RAS at localhost:28028: connection refused", ras.Ask(context.Background(), refused, "").Text())
	w := ras.Ask(context.Background(), service(t, []byte("read socket: Connection reset by peer\n"), true), "")
	require.Equal(t, record.WitnessAbsent, w.State)
	require.Contains(t, w.Reason, "not an answer of RAS")
	other := func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer func() { _ = there.Close() }()
			_, _ = bufio.NewReader(there).ReadString('\n')
			_, _ = fmt.Fprint(there, "HTTP/1.1 400 Bad Request\n")
		}()
		return here, nil
	}
	require.Contains(t, ras.Ask(context.Background(), other, "").Reason, `answered "HTTP/1.1 400 Bad Request", expected "SERVER PROTOCOL "`)
}

// A connection that a frozen process has got is given up, and the next one is answered.
func TestAskPastAFrozenProcess(t *testing.T) {
	answers, dials := service(t, recorded(t, "healthy.json"), true), 0
	w := ras.Ask(context.Background(), func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials++; dials > 2 {
			return answers(ctx, network, address)
		}
		here, there := net.Pipe()
		t.Cleanup(func() { _ = there.Close() })
		return here, nil
	}, "")
	require.Equal(t, record.WitnessHealthy, w.State, w.Reason)
	require.GreaterOrEqual(t, dials, 3, "a slow machine may take one more")
}

// A service that says nothing ends with the caller's context, and with Within at the latest.
func TestAskThatHangs(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	silent := func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			_, _ = bufio.NewReader(there).ReadString('\n')
			cancel(errors.New("enough"))
		}()
		return here, nil
	}
	w := ras.Ask(ctx, silent, "")
	require.Equal(t, record.WitnessAbsent, w.State)
	require.Equal(t, "enough", w.Reason)
}
