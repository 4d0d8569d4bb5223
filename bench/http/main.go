// Command http measures an API node over HTTP on this machine, and what hostile clients do to
// others.
//
// In: the binary of bench/server and how many tokens it is to hold. Out: a table on standard
// output; the exit code is 1 when a goal is missed and --check was given. Guarantees: the node runs
// in a process of its own; a handler that returns a constant body of the same size, measured in
// turns with it by the same load generator, says what this machine can do, so that figures are
// comparable between machines. Nothing is written to disk.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/mintlake/mintlake/bench/report"
)

// settings of a run.
type settings struct {
	server      string
	tokens      int
	connections int
	seconds     int
	only        string
	check       bool
	report      *report.Report
}

func main() {
	s := settings{report: report.New("bench-http")}
	constant := pflag.Int("constant", 0, "serve a constant body of that many bytes instead; for bench-http itself")
	pflag.StringVar(&s.server, "server", "bin/bench-server", "binary of bench/server")
	pflag.IntVar(&s.tokens, "tokens", 100_000, "tokens of the registry")
	pflag.IntVar(&s.connections, "connections", 16, "connections of the load generator")
	pflag.IntVar(&s.seconds, "seconds", 5, "length of one measurement")
	pflag.StringVar(&s.only, "only", "", "throughput, batch, loris, idle or flood; empty: all")
	pflag.BoolVar(&s.check, "check", false, "exit with 1 when a goal is missed")
	pflag.Parse()
	var err error
	if *constant > 0 {
		err = serveConstant(*constant)
	} else {
		err = s.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-http:", err)
		os.Exit(1)
	}
	if missed := s.report.Missed(); s.check && missed > 0 {
		fmt.Fprintf(os.Stderr, "bench-http: %d goals are missed\n", missed)
		os.Exit(1)
	}
}

// run measures each part on a node of its own, so that no part affects the next.
func (s *settings) run() error {
	fmt.Printf("registry of %d tokens, %d connections\n", s.tokens, s.connections)
	for _, part := range []struct {
		name string
		args []string
		run  func(p *process) error
	}{
		{"throughput", nil, s.throughput},
		{"batch", nil, s.batch},
		{"loris", nil, s.loris},
		{"idle", nil, s.idle},
		{"flood", []string{"--limits", "--trusted-proxies", "127.0.0.0/8"}, s.flood},
	} {
		if s.only != "" && s.only != part.name {
			continue
		}
		p, err := start(s.server, append([]string{"--tokens", fmt.Sprint(s.tokens)}, part.args...)...)
		if err != nil {
			return err
		}
		err = part.run(p)
		p.stop()
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return s.report.Write()
}

// length of one measurement.
func (s *settings) length() time.Duration { return time.Duration(s.seconds) * time.Second }

// throughput compares search and lookup with a constant body of the same size, in turns, the best
// of three.
func (s *settings) throughput(p *process) error {
	for _, kind := range []struct {
		name  string
		paths []string
	}{{"search", searches()}, {"search, 50 rows", []string{"/tokens"}}, {"lookup", lookups(s.tokens)}} {
		size, err := meanSize(p.url, kind.paths)
		if err != nil {
			return err
		}
		constant, err := start(os.Args[0], "--constant", fmt.Sprint(size))
		if err != nil {
			return err
		}
		var ours, theirs float64
		for range 3 {
			theirs = max(theirs, closedLoop(constant.url, kind.paths, s.connections, s.length()).perSecond())
			ours = max(ours, closedLoop(p.url, kind.paths, s.connections, s.length()).perSecond())
		}
		constant.stop()
		s.report.Add(report.Figure{
			Name: kind.name, Value: ours, Unit: "requests/s", Peer: "constant handler", PeerValue: theirs, Goal: "ratio >= 0.50", Met: ours >= theirs/2,
			Note: fmt.Sprintf("bodies of %d bytes", size),
		})
	}
	return nil
}

// batch asks for 500 mints 50 times a second, in turns with the constant handler. The latter's time
// is what the machine and HTTP take.
func (s *settings) batch(p *process) error {
	paths := batches(s.tokens)
	size, err := meanSize(p.url, paths[:5])
	if err != nil {
		return err
	}
	constant, err := start(os.Args[0], "--constant", fmt.Sprint(size))
	if err != nil {
		return err
	}
	defer constant.stop()
	var ours, theirs *result
	for range 3 {
		theirs = better(theirs, openLoop(constant.url, paths, 50, s.length()))
		ours = better(ours, openLoop(p.url, paths, 50, s.length()))
	}
	s.report.Add(report.Figure{
		Name: "batch of 500 at 50/s, p99", Value: milliseconds(ours.p(99)), Unit: "ms", Peer: "constant handler", PeerValue: milliseconds(theirs.p(99)),
		Goal: "<= 10 ms, none failed", Met: ours.p(99) <= 10*time.Millisecond && ours.failed == 0, Note: fmt.Sprintf("%s, %d bytes%s", ours, size, p.memory()),
	})
	return nil
}

// measureOther measures a well-behaved client, which sends 100 requests a second, while what goes
// on. It runs long enough for the node's time-outs to end hostile connections. extra, which may be
// nil, returns a note for the report.
func (s *settings) measureOther(what string, p *process, extra func() string) {
	r := openLoop(p.url, lookups(s.tokens), 100, max(2*s.length(), 12*time.Second))
	figures := r.String() + p.memory()
	if extra != nil {
		figures += ", " + extra()
	}
	s.reportOther(what, r, figures)
}

// reportOther reports the delays that a well-behaved client saw while what went on.
func (s *settings) reportOther(what string, r *result, note string) {
	s.report.Add(report.Figure{
		Name: what + ", p99 of another client", Value: milliseconds(r.p(99)), Unit: "ms", Goal: "< 50 ms, none failed",
		Met: r.p(99) < 50*time.Millisecond && r.failed == 0, Note: note,
	})
}
