package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/ingest/source"
)

// fewestFiles is how many open files a process must be allowed. A node over the demo chain has 300
// open; each client, partition and table of more data adds to that.
const fewestFiles = 1024

// checkStart checks, before anything is started, for what would make the start fail: missing files,
// a missing source, addresses that are in use, and a low limit of open files. The error joins all
// problems.
func checkStart(cfg *Config, rooms []string, embedded bool) error {
	problems := enoughFiles()
	if slices.Contains(rooms, roomIngest) {
		for _, text := range cfg.Source {
			spec, err := source.ParseSpec(text)
			if err != nil || spec.Kind != source.KindFile {
				continue
			}
			if _, err := os.Stat(spec.Path); err != nil {
				problems = append(problems, fmt.Errorf("source file: %w", err))
			}
		}
	}
	if err := cfg.checkProcessed(rooms); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(append(problems, freeAddresses(listenAddresses(cfg, rooms, embedded))...)...)
}

// enoughFiles returns a problem if the process may not open enough files. Go has already raised the
// soft limit to the hard one.
func enoughFiles() []error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= fewestFiles {
		return nil
	}
	return []error{fmt.Errorf("at most %d files may be open, and %d are needed: raise the limit (ulimit -Hn, or LimitNOFILE= of a systemd unit)", limit.Cur, fewestFiles)}
}

// listenAddresses returns the settings by which rooms listen, with their values. rpc.ws_addr and
// admin.addr are not among them.
func listenAddresses(cfg *Config, rooms []string, embedded bool) []address {
	list := []address{{"metrics.addr", cfg.Metrics.Addr}}
	if embedded && len(cfg.Kafka.Brokers) == 0 {
		list = append(list, address{"kafka.addr", cfg.Kafka.Addr})
	}
	if embedded && cfg.ClickHouse.DSN == "" {
		list = append(list, address{"clickhouse.addr", cfg.ClickHouse.Addr})
	}
	for _, surface := range []struct {
		room string
		address
	}{
		{roomAPI, address{"api.addr", cfg.API.Addr}}, {roomGateway, address{"rpc.addr", cfg.RPC.Addr}},
		{roomGateway, address{"stream.addr", cfg.Stream.Addr}}, {roomSwap, address{"swap.addr", cfg.Swap.Addr}},
	} {
		if slices.Contains(rooms, surface.room) {
			list = append(list, surface.address)
		}
	}
	return list
}

// freeAddresses returns a problem for each address that cannot be listened on. It holds each
// listener until all are checked, so it also finds two settings with one address.
func freeAddresses(list []address) (problems []error) {
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			_ = listener.Close()
		}
	}()
	for _, wanted := range list {
		listener, err := net.Listen("tcp", wanted.url)
		if err == nil {
			held = append(held, listener)
			continue
		}
		flag := "--" + strings.ReplaceAll(wanted.name, ".", "-")
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%s is taken, perhaps by another mintlake up; free is %s %s", wanted.url, flag, nextFree(wanted.url, &held))
		}
		problems = append(problems, fmt.Errorf("%s: %w", wanted.name, err))
	}
	return problems
}

// nextFree returns a free address of the same host with one of the next 100 ports, or with port 0
// if none of them is free.
func nextFree(taken string, held *[]net.Listener) string {
	host, port, _ := net.SplitHostPort(taken) // valid: net.Listen has parsed it
	number, _ := strconv.Atoi(port)
	for next := number + 1; next <= min(number+100, 65_535); next++ {
		candidate := net.JoinHostPort(host, strconv.Itoa(next))
		if listener, err := net.Listen("tcp", candidate); err == nil {
			*held = append(*held, listener)
			return candidate
		}
	}
	return net.JoinHostPort(host, "0")
}
