package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mintlake/mintlake/tools/suites/table"
)

// modulePath is what import paths of the main module begin with.
const modulePath = "github.com/mintlake/mintlake/"

// runner runs suites.
type runner struct {
	needs map[string]string
	// folder gets a log of each suite. If quiet, the log alone has what a suite says.
	folder string
	quiet  bool
	// processor is the processor time of the commands of the suite under way.
	processor time.Duration
}

// run runs a suite and says how it went.
func (r *runner) run(ctx context.Context, s table.Suite) verdict {
	fmt.Printf("== %s: %s (about %d min)\n", s.Name, s.What, s.Minutes)
	v := verdict{Suite: s.Name, Log: filepath.Join(r.folder, s.Name+".log")}
	if v.Reason = r.missing(ctx, s.Needs); v.Reason != "" {
		v.Verdict = notRun
	} else {
		begin := time.Now()
		v.Verdict, r.processor = passed, 0
		if err := r.logged(ctx, s, v.Log); err != nil {
			v.Verdict, v.Reason = failed, err.Error()
		}
		v.Seconds, v.Processor = time.Since(begin).Seconds(), r.processor.Seconds()
	}
	fmt.Printf("== %s\n\n", v)
	return v
}

// missing says what the suite needs and this machine does not have. It is empty if nothing is
// missing.
func (r *runner) missing(ctx context.Context, needs []string) string {
	for _, need := range needs {
		var said bytes.Buffer
		check := exec.CommandContext(ctx, "sh", "-c", r.needs[need])
		check.Stderr = &said
		if check.Run() != nil {
			return strings.TrimSuffix("needs "+need+": "+strings.TrimSpace(said.String()), ": ")
		}
	}
	return ""
}

func (r *runner) logged(ctx context.Context, s table.Suite, path string) error {
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	var out io.Writer = log
	if !r.quiet {
		out = io.MultiWriter(log, os.Stdout)
	}
	return errors.Join(r.commands(ctx, s, out), log.Close())
}

// commands runs all commands of the suite, those after a failure too, and joins their errors.
func (r *runner) commands(ctx context.Context, s table.Suite, out io.Writer) error {
	limit := time.Duration(4*s.Minutes+40) * time.Minute
	if s.Make != "" {
		return r.command(ctx, limit, nil, out, append([]string{"make", "--no-print-directory"}, splitMake(s.Make)...))
	}
	var errs []error
	for _, tests := range s.Go {
		args, err := goTest(ctx, tests, limit)
		if err == nil {
			// Go itself ends first, and says which test hangs.
			err = r.command(ctx, limit+time.Minute, tests.Env, out, args)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// splitMake splits arguments of make. Values may stand in single quotes.
func splitMake(text string) []string {
	var out []string
	for i, part := range strings.Split(text, "'") {
		if i%2 == 1 {
			out[len(out)-1] += part
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

// goTest returns the command line of go test.
func goTest(ctx context.Context, t table.Tests, limit time.Duration) ([]string, error) {
	command := cmp.Or(os.Getenv("GO"), "go")
	args := append([]string{command, "test", "-C", cmp.Or(t.Module, ".")}, strings.Fields(t.Flags)...)
	args = append(args, "-timeout", limit.String())
	if len(t.Run) > 0 {
		args = append(args, "-run", t.Run.Pattern())
	}
	if len(t.Skip) > 0 {
		args = append(args, "-skip", t.Skip.Pattern())
	}
	if len(t.Except) == 0 {
		return append(args, t.Packages...), nil
	}
	list, err := exec.CommandContext(ctx, command, append([]string{"list"}, t.Packages...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(t.Packages, " "), err)
	}
	for path := range strings.FieldsSeq(string(list)) {
		if !t.Except.Hold(strings.TrimPrefix(path, modulePath)) {
			args = append(args, path)
		}
	}
	return args, nil
}

// command runs a command in a process group of its own. Then it kills what is left of the group.
func (r *runner) command(ctx context.Context, limit time.Duration, env map[string]string, out io.Writer, args []string) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(bounded, args[0], args[1:]...)
	// A make of its own: it does not get the variables and job slots of the one that runs this.
	cmd.Env = append(os.Environ(), "MAKEFLAGS=")
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	r.processor += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // it passed, but a process of it held its output open
		return nil
	case bounded.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("not done within %s", limit)
	}
	return err
}
