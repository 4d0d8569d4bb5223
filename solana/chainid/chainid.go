// Package chainid checks that each server serves the chain that the stored data is of. A chain is
// identified by its genesis hash.
//
// In: servers that answer getGenesisHash, and the hash that is stored with the data. Out: nil, or
// an error that names both hashes and what to do. Guarantees: the first hash is stored and never
// changed. A server of another chain is left out as long as it serves that chain; it is an error if
// no other server is left to read the chain from. A server that cannot be reached is asked again
// until it answers. One that refuses getGenesisHash is named in the log once, and trusted.
package chainid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Told is a genesis hash and the name of the server or snapshot that told it.
type Told struct {
	Hash pubkey.Key
	By   string
}

// Log stores genesis hashes with the data. Only the oldest counts.
type Log interface {
	// Remembered returns the oldest stored hash; false if there is none.
	Remembered(ctx context.Context) (Told, bool, error)
	// Remember stores a hash behind those that are stored already.
	Remember(ctx context.Context, told Told) error
}

// Server is a server that can be asked for its genesis hash.
type Server struct {
	// Name is shown to people, so it must not contain an API key. No other server has it.
	Name string
	Ask  func(ctx context.Context) (pubkey.Key, error)
	// LeaveOut takes the server out of use (true) or back into use (false). It is called after each
	// round of requests. It is nil for a server that cannot be left out: then it is an error if the
	// server serves another chain.
	LeaveOut func(out bool)
}

// Deps are the collaborators; all but Logger are required.
type Deps struct {
	Log Log
	// Later says whether an error of Ask is temporary. Any other error means that the server does
	// not answer the question.
	Later  func(error) bool
	Logger *slog.Logger
	// Alone says that the chain is read from these servers only: if all of them are left out, that
	// is an error.
	Alone bool
}

// Checker compares the hashes of servers with the stored one. It is safe for concurrent use.
type Checker struct {
	deps Deps

	mu    sync.Mutex
	known *Told // the stored hash; nil until it is read
	// other has, by the server's name, the last result of Check: nil or an OtherChainError. out has
	// the servers that are left out. usable is set once a server that does not tell its hash is
	// trusted.
	other  map[string]error
	out    map[string]bool
	usable bool
}

// New makes a checker; it does no I/O.
func New(deps Deps) *Checker {
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	return &Checker{deps: deps, other: map[string]error{}, out: map[string]bool{}}
}

// OtherChainError says that a server serves another chain than the one that the data is of.
type OtherChainError struct{ Data, Server Told }

func (e *OtherChainError) Error() string {
	return fmt.Sprintf("another chain: %s has the genesis hash %s, the data is of %s (told by %s): give the right server, or start with another data folder "+
		"(--data-dir), or another Kafka, to follow the other chain; a chain that was reset is another one",
		e.Server.By, e.Server.Hash, e.Data.Hash, e.Data.By)
}

// Check returns an OtherChainError if told is not the stored hash. If none is stored, it stores
// told. If several processes store one at once, the first counts.
func (c *Checker) Check(ctx context.Context, told Told) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		known, err := c.remember(ctx, told)
		if err != nil {
			return fmt.Errorf("identity of the chain: %w", err)
		}
		c.known = &known
	}
	if c.known.Hash != told.Hash {
		return &OtherChainError{Data: *c.known, Server: told}
	}
	return nil
}

// remember returns the stored hash. If there is none, it stores told and reads again: another
// process may have been first.
func (c *Checker) remember(ctx context.Context, told Told) (Told, error) {
	known, ok, err := c.deps.Log.Remembered(ctx)
	if err != nil || ok {
		return known, err
	}
	if err := c.deps.Log.Remember(ctx, told); err != nil {
		return Told{}, err
	}
	known, ok, err = c.deps.Log.Remembered(ctx)
	if err == nil && !ok {
		err = errors.New("what was remembered cannot be read")
	}
	return known, err
}

// First asks each server once, in order, and waits at most patience for each. It returns the
// servers that Watch should ask again: all that answered or may answer later.
func (c *Checker) First(ctx context.Context, servers []Server, patience time.Duration) (rest []Server, err error) {
	for _, server := range servers {
		keep, err := c.ask(ctx, server, patience)
		if err != nil {
			return nil, err
		}
		if keep {
			rest = append(rest, server)
		}
	}
	if ctx.Err() != nil {
		return rest, ctx.Err()
	}
	return rest, c.leaveOut(rest)
}

// leaveOut takes servers of another chain out of use, and the other servers back into use. It
// returns an error if the chain is read from these servers alone and none of them is left.
func (c *Checker) leaveOut(servers []Server) (last error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	someLeft := !c.deps.Alone || c.usable || len(servers) == 0
	for _, server := range servers {
		last = c.other[server.Name]
		someLeft = someLeft || last == nil
	}
	if !someLeft {
		return last
	}
	for _, server := range servers {
		err, out := c.other[server.Name], c.out[server.Name]
		switch {
		case err != nil && !out:
			c.deps.Logger.Error("the server is left out: it serves another chain than the data is of", "server", server.Name, "err", err)
		case err == nil && out:
			c.deps.Logger.Info("the server serves the chain of the data again", "server", server.Name)
		}
		c.out[server.Name] = err != nil
		if server.LeaveOut != nil {
			server.LeaveOut(err != nil)
		}
	}
	return nil
}

// Watch asks the servers again after each interval (every): a chain may be reset while it is
// followed. It returns Check's error, such as an OtherChainError. It returns nil when ctx ends, or
// when no server is left that answers the question.
func (c *Checker) Watch(ctx context.Context, servers []Server, every, patience time.Duration) error {
	for len(servers) > 0 {
		if pause.For(ctx, every) != nil {
			return nil
		}
		rest, err := c.First(ctx, servers, patience)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		servers = rest
	}
	return nil
}

// ask asks one server for its genesis hash and checks it. keep says whether the server is asked
// again later: it is false if the server refuses to tell its hash. One that is late, or that fails
// for the moment, is kept.
func (c *Checker) ask(ctx context.Context, server Server, patience time.Duration) (keep bool, err error) {
	attempt, cancel := context.WithTimeout(ctx, patience)
	hash, err := server.Ask(attempt)
	late := attempt.Err() != nil
	cancel()
	switch {
	case err == nil:
		return true, c.judge(server, c.Check(ctx, Told{Hash: hash, By: server.Name}))
	case ctx.Err() != nil:
		return true, ctx.Err()
	case late || c.deps.Later(err):
		c.deps.Logger.Debug("genesis hash not told yet", "server", server.Name, "err", err)
		return true, nil
	}
	c.mu.Lock()
	c.usable = true
	c.mu.Unlock()
	c.deps.Logger.Warn("the server does not tell its genesis hash: whether it serves the chain of this data is not checked", "server", server.Name, "err", err)
	return false, nil
}

// judge records err, the result of Check for a server, if it is nil or an OtherChainError. It
// returns err if it is any other error, or if the server cannot be left out.
func (c *Checker) judge(server Server, err error) error {
	var other *OtherChainError
	if err != nil && !errors.As(err, &other) || server.LeaveOut == nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.other[server.Name] = err
	return nil
}
