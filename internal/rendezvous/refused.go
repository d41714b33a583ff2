package rendezvous

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"zbench/bench/base/plain"
)

// Reason is why a connection or a message was refused.
type Reason string

// The reasons for refusing connections, requests and processes.
const (
	NoTLS         Reason = "no TLS"
	NoHandshake   Reason = "handshake not finished in time"
	ClosedEarly   Reason = "closed before the handshake"
	WrongToken    Reason = "wrong token"
	WrongKey      Reason = "the client expects another key"
	BadHandshake  Reason = "failed handshake"
	TooMany       Reason = "too many connections"
	TooSlow       Reason = "request not finished in time"
	TooLarge      Reason = "message too large"
	Malformed     Reason = "malformed message"
	OtherProtocol Reason = "other protocol"
	OtherWorld    Reason = "other world"
	Duplicate     Reason = "duplicate process"
	OtherBuild    Reason = "other build"
	OtherBackend  Reason = "other backend"
	NotRegistered Reason = "not registered"
	NotExpected   Reason = "unexpected message"
)

// Refused describes one refusal.
type Refused struct {
	Reason Reason `json:"reason"`
	// Text says what was refused and what to do.
	Text string `json:"text"`
	// From is the address of the other end.
	From string `json:"-"`
	// Process is the number that the other end gave, −1 if it gave none. Host is the name of its
	// host.
	Process int    `json:"-"`
	Host    string `json:"-"`
}

// Error makes a Refused the error of the process that was refused.
func (r *Refused) Error() string { return fmt.Sprintf("refused (%s): %s", r.Reason, r.Text) }

func refuse(reason Reason, format string, args ...any) *Refused {
	return &Refused{Reason: reason, Process: -1, Text: plain.Line(fmt.Sprintf(format, args...))}
}

// maxRemembered is the number of refusals that are kept with their text. All are counted.
const maxRemembered = 64

// refusals counts refusals by reason. It is safe for concurrent use.
type refusals struct {
	mu     sync.Mutex
	counts map[Reason]int
	last   []Refused
}

func (r *refusals) add(one *Refused) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[Reason]int{}
	}
	r.counts[one.Reason]++
	if len(r.last) == maxRemembered {
		r.last = append(r.last[:0], r.last[1:]...)
	}
	r.last = append(r.last, *one)
}

func (r *refusals) all() (map[Reason]int, []Refused) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts), append([]Refused(nil), r.last...)
}

// RefusalText summarises the refusals of a leader: the number of connections and messages for each
// reason, the most frequent first, and the last refusal. It is "" if there were none.
func RefusalText(counts map[Reason]int, last []Refused) string {
	total := 0
	var parts []string
	for _, reason := range slices.SortedFunc(maps.Keys(counts), func(a, b Reason) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}) {
		total += counts[reason]
		parts = append(parts, fmt.Sprintf("%s: %d", reason, counts[reason]))
	}
	if total == 0 {
		return ""
	}
	text := fmt.Sprintf("rank 0 refused %s to connect (%s)", plain.Count(total, "attempt"), strings.Join(parts, "; "))
	if n := len(last); n > 0 {
		text += fmt.Sprintf("; the last came from %s", plain.Line(last[n-1].From))
	}
	return text
}
