package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"zbench/bench/exit"
	"zbench/bench/plan"
	"zbench/internal/launch"
	"zbench/internal/native"
	"zbench/internal/rendezvous"
)

// follow takes part in a sweep that another process leads. It prints errors of its own
// only: data and progress are the leader's.
func (o *collectivesOptions) follow(ctx context.Context, s State, role launch.Role) error {
	c, err := o.connection(s, role)
	if err != nil {
		return o.once(role, err)
	}
	f, err := rendezvous.Join(ctx, c)
	switch {
	case errors.Is(err, rendezvous.ErrEnded):
		return quietError{exit.Run} // the leader says why
	case err != nil:
		return fmt.Errorf("%s: %w", s.Hostname(), err)
	}
	defer f.Close()
	var with opening
	if err := json.Unmarshal(f.Welcome(), &with); err != nil {
		return fmt.Errorf("%s: the leader's welcome: %w", s.Hostname(), err)
	}
	settle := func() {}
	if s.Light != nil && with.Backend == "loopback" { // a real library's threads need the cores
		settle = s.Light()
	}
	defer context.AfterFunc(ctx, func() { _ = f.Stop() })() // a leader that is gone ends the run anyway
	var own *collectivesDriver
	err = plan.FollowOpening(ctx, func(ctx context.Context) (plan.Process, json.RawMessage, error) {
		var text json.RawMessage
		var failed error
		own, text, failed = o.openFollower(ctx, s, role, &with)
		if failed != nil {
			return nil, nil, failed
		}
		return own, text, nil
	}, &settling{Follower: f, settle: settle})
	if err != nil {
		removeMeeting(s, &with)
	}
	if own != nil {
		closing := own.Close()
		if err == nil {
			err = closing
		}
	}
	if err == nil {
		err = f.Wait()
	}
	if errors.Is(err, rendezvous.ErrEnded) {
		return quietError{exit.Run}
	}
	if err != nil {
		return o.once(role, fmt.Errorf("process %d on %s: %w", role.Rank, s.Hostname(), err))
	}
	return nil
}

// settling is the connection to the leader of a process that settles once it has opened its
// ranks and allocated their buffers. Sooner, a thousand processes of one host would keep each
// other from opening theirs.
type settling struct {
	*rendezvous.Follower
	settle   func()
	reported int
}

// settledAfter is the number of orders to open and to allocate.
const settledAfter = 2

func (c *settling) Report(r plan.Report) error {
	err := c.Follower.Report(r)
	if c.reported++; c.reported == settledAfter {
		c.settle()
	}
	return err
}

// removeMeeting removes the file where the processes of a simulation meet: a leader that was
// killed while they opened it has left it. Its name is of one run alone.
func removeMeeting(s State, with *opening) {
	if with.Arena != "" {
		_ = s.FS.Remove(with.Arena) // mostly it is gone
	}
}

// once keeps an error that all processes have to the first of each node.
func (*collectivesOptions) once(role launch.Role, err error) error {
	if role.Local > 0 {
		return quietError{codeOf(err)}
	}
	return err
}

// openFollower opens the ranks of this process as the leader's welcome says.
func (o *collectivesOptions) openFollower(ctx context.Context, s State, role launch.Role, with *opening) (*collectivesDriver, json.RawMessage, error) {
	heard := s.Now()
	if with.Arena != "" {
		if _, err := s.FS.Stat(with.Arena); err != nil {
			return nil, nil, fmt.Errorf("%w: the leader's file %s is not there: all processes of a simulation must run on one machine", native.ErrUnavailable, with.Arena)
		}
	}
	s.Stderr = Stream{Writer: io.Discard} // progress of tasks: the leader shows its own
	d, err := openShare(ctx, s, o.libraries, with, role.Rank, role.Local)
	if err != nil {
		return nil, nil, err
	}
	mine, err := introduce(s, d, with, role, heard)
	var text json.RawMessage
	if err == nil {
		text, err = json.Marshal(mine)
	}
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	return d, text, nil
}
