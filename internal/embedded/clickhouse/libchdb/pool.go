package libchdb

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// PoolConfig says what Open opens.
type PoolConfig struct {
	// Dir is the data directory. It is created when absent.
	Dir string
	// Connections is the number of queries that can run at once; each has a connection of its own, because the engine serialises the
	// queries of one connection. Another one is opened for KILL QUERY.
	Connections int
	// Args are further arguments of the clickhouse command line, for example --config-file=FILE.
	Args []string
	// AcquireTimeout is how long Acquire waits for a free connection.
	AcquireTimeout time.Duration
	// Settings every connection starts with and goes back to, by name. The engine takes no user profiles from its configuration file.
	Settings map[string]string
}

// Pool is a fixed set of connections to one data directory. All of them are opened at start: each connect tampers with the process' signal
// handlers, so it must not happen while queries run.
type Pool struct {
	free     chan *Conn
	killer   *Conn
	all      []*Conn
	settings map[string]bool   // names of the engine's settings
	base     map[string]string // settings that differ from the engine's default unless a request says otherwise
	timeout  time.Duration
	version  string
	timezone string
}

// Open opens the data directory and every connection. The error wraps ErrConnect when the engine refuses, which it explains on stderr only.
func (l *Library) Open(cfg PoolConfig) (*Pool, error) {
	p := &Pool{free: make(chan *Conn, cfg.Connections), timeout: cfg.AcquireTimeout, settings: map[string]bool{}, base: cfg.Settings}
	args := append([]string{"--path=" + cfg.Dir}, cfg.Args...)
	for i := 0; i <= cfg.Connections; i++ {
		raw, err := l.open(args)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("open %s: %w", cfg.Dir, err)
		}
		c := &Conn{pool: p, raw: raw, tag: fmt.Sprintf("conn-%d", i), current: map[string]string{}, unknown: map[string]bool{}}
		p.all = append(p.all, c)
		if err := c.exec("SET " + join(c.initial())); err != nil {
			p.Close()
			return nil, fmt.Errorf("set the connection's defaults: %w", err)
		}
	}
	p.killer = p.all[cfg.Connections]
	if err := p.readFacts(); err != nil {
		p.Close()
		return nil, err
	}
	for _, c := range p.all[:cfg.Connections] {
		p.free <- c
	}
	return p, nil
}

func (p *Pool) readFacts() error {
	facts, err := p.killer.text("SELECT version(), timezone()")
	if err != nil {
		return fmt.Errorf("read engine version: %w", err)
	}
	p.version, p.timezone, _ = strings.Cut(facts, "\t")
	names, err := p.killer.text("SELECT name FROM system.settings")
	if err != nil {
		return fmt.Errorf("read setting names: %w", err)
	}
	for name := range strings.Lines(names + "\n") {
		p.settings[strings.TrimSuffix(name, "\n")] = true
	}
	return nil
}

// Version is the engine's version, for example "26.7.3.1".
func (p *Pool) Version() string { return p.version }

// Timezone is the engine's time zone, for example "UTC".
func (p *Pool) Timezone() string { return p.timezone }

// Size is the number of queries that can run at once.
func (p *Pool) Size() int { return cap(p.free) }

// Busy is the number of connections in use.
func (p *Pool) Busy() int { return cap(p.free) - len(p.free) }

// Acquire waits for a free connection. Its errors are the context's, or code 202 (TOO_MANY_SIMULTANEOUS_QUERIES) after AcquireTimeout.
func (p *Pool) Acquire(ctx context.Context) (*Conn, error) {
	select {
	case c := <-p.free:
		return c, nil
	default:
	}
	timer := time.NewTimer(p.timeout)
	defer timer.Stop()
	select {
	case c := <-p.free:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, Errorf(202, "TOO_MANY_SIMULTANEOUS_QUERIES", "Too many simultaneous queries: all %d connections were busy for %s", cap(p.free), p.timeout)
	}
}

// Close closes the connections and with them the data directory. No connection may be in use.
func (p *Pool) Close() {
	for _, c := range p.all {
		c.raw.close()
	}
	p.all = nil
}
