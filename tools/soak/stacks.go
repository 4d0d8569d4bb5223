package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// dump writes what the engine of a node that stands still is doing: its queries, and every thread
// of its process with what the thread waits for. The stacks need gdb and are left out without it.
// gdb stops the engine for seconds, so dump is called only after a stall.
func (n *node) dump(ctx context.Context, path string) {
	file, err := os.Create(path)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }() // a help for people
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, query := range []string{
		"SELECT elapsed, read_rows, written_rows, memory_usage, thread_ids, query FROM system.processes FORMAT Vertical",
		"SELECT * FROM system.merges FORMAT Vertical",
		"SELECT metric, value FROM system.metrics WHERE value > 0 FORMAT TSV",
	} {
		fmt.Fprintf(file, "== %s\n", query)
		request := strings.NewReplacer(" ", "+", ">", "%3E", "*", "%2A").Replace(query)
		if response, err := n.get(ctx, n.clickhouse+"/?query="+request); err != nil {
			fmt.Fprintln(file, err)
		} else {
			_, _ = io.Copy(file, response.Body)
			_ = response.Body.Close()
		}
	}
	engine := n.engine()
	if engine == 0 {
		return
	}
	writeThreads(file, engine)
	if gdb, err := exec.LookPath("gdb"); err == nil {
		command := exec.CommandContext(ctx, gdb, "-p", strconv.Itoa(engine), "-batch", "-ex", "set pagination off", "-ex", "thread apply all bt 25")
		command.Stdout, command.Stderr = file, file
		_ = command.Run() // without the right to trace there are no stacks
	}
}

// writeThreads lists a process' threads with the kernel function that each sleeps in.
func writeThreads(w io.Writer, pid int) {
	fmt.Fprintln(w, "== threads")
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // of a process that is gone: none
	for _, task := range tasks {
		folder := fmt.Sprintf("/proc/%d/task/%s/", pid, task.Name())
		name, _ := os.ReadFile(folder + "comm")
		wait, _ := os.ReadFile(folder + "wchan")
		fmt.Fprintf(w, "%s %s %s\n", task.Name(), strings.TrimSpace(string(name)), wait)
	}
}
