// Package ras asks the RAS service of RCCL and NCCL which ranks are missing or late. The service
// listens in every process of a job, on localhost port 28028 or at NCCL_RAS_ADDR (NCCL 2.24, RCCL
// 2.28). Its protocol consists of lines of text. From 2.28.7 on the answer is JSON; older versions
// answer in text for people. Parse reads both.
//
// Sources: NVIDIA/nccl src/ras/client_support.cc (protocol, both formats), ROCm/cvs
// cvs/monitors/cluster-mon (answers of RCCL 2.28.3).
package ras

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"zbench/bench/base/plain"
	"zbench/bench/run/record"
)

// DefaultAddress is the address of the service if AddressVariable is not set.
const (
	DefaultAddress  = "localhost:28028"
	AddressVariable = "NCCL_RAS_ADDR"
)

// Within is the time limit of a query. It is short, because a hang has already taken long enough.
const Within = 5 * time.Second

// legSeconds is how long the service itself waits for a rank's data, in seconds.
const legSeconds = 2

// All processes of a job on a host listen at the same address (SO_REUSEPORT in NCCL's
// rasClientInitSocket), and the kernel distributes connections among them. A frozen process never
// answers its connection, but the next connection may go to another process. Therefore all tries
// but the last end early if no greeting comes.
const (
	greeting = 300 * time.Millisecond
	tries    = 8
)

// errSilent is the error of a connection without a greeting.
var errSilent = errors.New("no greeting")

// An answer has at most `most` bytes. JSON for 1,024 ranks takes about 0.6 MB.
const most = 64 << 20

// Dial opens a connection, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Ask asks the service at the address; "" means DefaultAddress. If there is no answer in time, the
// witness is absent, with the reason.
func Ask(ctx context.Context, dial Dial, address string) *record.Witness {
	if address == "" {
		address = DefaultAddress
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Within, fmt.Errorf("no answer within %g s", Within.Seconds()))
	defer cancel()
	source := "RAS at " + plain.Line(address)
	text, err := ask(ctx, dial, address)
	if err == nil {
		var w *record.Witness
		if w, err = Parse(text); err == nil {
			w.Source = source
			return w
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &record.Witness{Source: source, State: record.WitnessAbsent, Reason: plain.Line(err.Error()), Communicators: []record.WitnessComm{}, Ranks: []record.WitnessRank{}}
}

// ask connects again until a service greets.
func ask(ctx context.Context, dial Dial, address string) ([]byte, error) {
	for try := 1; ; try++ {
		text, err := converse(ctx, dial, address, try < tries)
		if !errors.Is(err, errSilent) {
			return text, err
		}
	}
}

// converse holds the conversation: the greeting, the time limit, the format, the question. If
// `hasty` is true, it ends when the greeting does not come soon.
func converse(ctx context.Context, dial Dial, address string, hasty bool) ([]byte, error) {
	c, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer c.Close()                                          //nolint:errcheck // all was read, or the error is reported
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // closing the connection ends reading and writing
	defer stop()
	in := bufio.NewReader(c)
	if err := greeted(ctx, c, in, hasty); err != nil {
		return nil, err
	}
	for _, step := range []struct{ say, expect string }{
		{fmt.Sprintf("TIMEOUT %d", legSeconds), "OK"},
		{"SET FORMAT json", ""}, // versions before 2.28.7 refuse this line and then answer in text
	} {
		if err := say(c, in, step.say, step.expect); err != nil {
			return nil, err
		}
	}
	if _, err := io.WriteString(c, "VERBOSE STATUS\n"); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if len(text) > most {
		return nil, fmt.Errorf("the answer is longer than %d MiB", most>>20)
	}
	if err != nil && (!errors.Is(err, net.ErrClosed) || len(text) == 0) {
		return nil, err
	}
	return text, nil
}

// greeted() sends the first line and waits for the greeting.
func greeted(ctx context.Context, c net.Conn, in *bufio.Reader, hasty bool) error {
	if !hasty {
		return say(c, in, hello, welcome)
	}
	soon, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	stop := context.AfterFunc(soon, func() { _ = c.Close() })
	err := say(c, in, hello, welcome)
	if !stop() { // the connection is being closed
		return errSilent
	}
	return err
}

// hello is the first line of the conversation; welcome begins the service's answer to it.
const (
	hello   = "CLIENT PROTOCOL 2"
	welcome = "SERVER PROTOCOL "
)

// say sends a line and reads the answer to it.
func say(c net.Conn, in *bufio.Reader, text, expect string) error {
	if _, err := io.WriteString(c, text+"\n"); err != nil {
		return err
	}
	line, err := in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	if !strings.HasPrefix(line, expect) {
		return fmt.Errorf("%s: answered %.80q, expected %q", text, strings.TrimSpace(line), expect)
	}
	return nil
}

// errNoAnswer is the error for a text that is no answer of RAS.
var errNoAnswer = errors.New("not an answer of RAS")

// Parse reads an answer in either form. It leaves Source empty.
func Parse(text []byte) (*record.Witness, error) {
	var w *record.Witness
	var err error
	if strings.HasPrefix(strings.TrimSpace(string(text[:min(len(text), 64)])), "{") {
		w, err = parseJSON(text)
	} else {
		w, err = parseText(string(text))
	}
	if err != nil {
		return nil, err
	}
	w.State = record.WitnessHealthy
	if len(w.Ranks) > 0 {
		w.State = record.WitnessDegraded
	}
	for _, c := range w.Communicators {
		if c.Status != "OK" {
			w.State = record.WitnessDegraded
		}
	}
	return w, nil
}
