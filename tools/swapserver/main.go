// Command swapserver is the swap API over a chain made up in memory. make test-openapi tests it.
//
// Out: the address on standard output once the API is ready, then HTTP until it is interrupted.
// Guarantees: the chain is the same each time; no JSON-RPC server, Kafka or ClickHouse is needed.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "swapserver:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := swap.New(swap.Config{Addr: "127.0.0.1:0"}, swap.Deps{
		Keys: &keys.Static{}, RPC: chain(), Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	go func() {
		<-server.Ready()
		fmt.Println("http://" + server.Addr())
	}()
	return server.Run(ctx)
}

// chain has the pair that the OpenAPI document's examples ask for, and a token that trades against
// SOL alone.
func chain() *swaptest.Chain {
	usdc, other := pubkey.MustParse("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"), swaptest.Named("token")
	c := swaptest.New()
	c.Mint(usdc, swaptest.TokenProgram, 6)
	c.Mint(other, swaptest.Token2022Program, 6, swaptest.TransferFee(100, 5_000)...)
	for i, mints := range [][2]swaptest.Key{{usdc, swaptest.WrappedSOL}, {usdc, swaptest.WrappedSOL}, {other, swaptest.WrappedSOL}} {
		c.CPMM(swaptest.Pool{Name: fmt.Sprint("pool ", i), Mints: mints, Amounts: [2]uint64{150_000_000_000, 1_000_000_000_000}, TradeRate: 2500})
	}
	return c
}
