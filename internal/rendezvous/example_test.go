package rendezvous_test

import (
	"context"
	"fmt"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/rendezvous"
)

// Two processes run a sweep; here they are goroutines. Process 0 leads.
func Example() {
	ctx := context.Background()
	token := rendezvous.NewToken() // both have it as ZBENCH_TOKEN
	leader := rendezvous.Member{Token: token, Address: "127.0.0.1:0", Self: self(0, 2)}
	leader.OnLost = func(l rendezvous.Loss) { fmt.Println(l) }

	l, err := rendezvous.Serve(ctx, leader)
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error)
	go func() {
		f, err := rendezvous.Join(ctx, rendezvous.Member{Token: token, Address: l.Address(), Self: self(1, 2)})
		if err != nil {
			done <- err
			return
		}
		defer f.Close()
		done <- plan.Follow(ctx, &toy{first: 1, ranks: 1}, f)
	}()

	if err := l.Wait(ctx); err != nil { // names the processes that are missing
		l.Close(err.Error(), 0)
		fmt.Println(err)
		return
	}
	if err := l.Start("any JSON: what the followers need to know"); err != nil {
		fmt.Println(err)
		return
	}
	group, sweepCtx := plan.Lead(ctx, &toy{ranks: 1}, l, l.Members(1))
	for _, r := range plan.Run(sweepCtx, sweep(2), group, runOptions(), func(record.Result) {}) {
		fmt.Println(r.Key, r.Status)
	}
	group.End()
	l.Close("", 0)
	fmt.Println("follower:", <-done)
	// Output:
	// all_reduce/float/sum/131072/r2/g1/oop ok
	// all_reduce/float/sum/262144/r2/g1/oop ok
	// all_reduce/float/sum/524288/r2/g1/oop ok
	// all_reduce/float/sum/1048576/r2/g1/oop ok
	// all_reduce/float/sum/2097152/r2/g1/oop ok
	// all_reduce/float/sum/4194304/r2/g1/oop ok
	// all_reduce/float/sum/8388608/r2/g1/oop ok
	// follower: <nil>
}
