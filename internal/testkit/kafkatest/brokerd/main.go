// Command brokerd runs the embedded Kafka broker in a process of its own, for tests that kill it.
//
// In: a data folder and an address. Out: nothing but its log on standard error. It stops on
// SIGTERM.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	embedded "github.com/mintlake/mintlake/embedded/kafka"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: %s DATA-FOLDER ADDRESS", os.Args[0])
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	broker, err := embedded.New(embedded.Config{DataDir: os.Args[1], Addr: os.Args[2]}, embedded.Deps{Logger: logger})
	if err != nil {
		return err
	}
	return broker.Run(ctx)
}
