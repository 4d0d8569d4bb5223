package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/demo/chain"
	"github.com/mintlake/mintlake/internal/durable"
)

// maxFastForward bounds the slots that a restarted demo chain makes anew before it goes on: about a
// minute of work at 100 transactions a second. A longer history begins again behind the last slot.
const maxFastForward = 50_000

// demoFirstSlot is where a demo chain begins unless its source says otherwise: about where mainnet
// was when 2026 began.
const demoFirstSlot = 400_000_000

// demoState is what a restart must know to go on with the same chain. It lies in the data folder.
type demoState struct {
	Source      string `json:"source"`
	GenesisSlot uint64 `json:"genesis_slot"`
	ParentSlot  uint64 `json:"parent_slot"`
	Slot        uint64 `json:"slot"`
	HTTPAddr    string `json:"http_addr"`
	// GenesisHash names the chain, also once its settings have changed. Zero in the files of
	// earlier versions.
	GenesisHash chain.Hash `json:"genesis_hash"`
	// Anchors are the chain's clock, so that slots made again have the block times they had.
	Anchors []chain.Anchor `json:"anchors"`
}

// startDemo runs the demo chain when it is the source, and makes it the upstream unless another is
// configured.
func (s *system) startDemo(ctx context.Context) error {
	if len(s.cfg.Source) != 1 || !isDemo(s.cfg.Source[0]) {
		return nil
	}
	cfg, err := demo.ParseSource(s.cfg.Source[0])
	if err != nil {
		return err
	}
	path, err := s.cfg.dataPath("demo.json")
	if err != nil {
		return err
	}
	state, err := resumeDemo(path, s.cfg.Source[0], &cfg)
	if err != nil {
		return err
	}
	node, err := demo.New(cfg, demo.Deps{Logger: s.logger, Registerer: s.registerer})
	if err != nil {
		return err
	}
	if err := s.runDemo(ctx, node); err != nil {
		return err
	}
	state.HTTPAddr, state.Anchors, state.GenesisHash = node.RPCAddr(), node.Anchors(), node.GenesisHash()
	s.lifecycle.start("demo state", func(ctx context.Context) error {
		rememberDemo(ctx, path, state, node.Slot, s.logger)
		return nil
	})
	s.demoGeyser, s.demoRPC = "geyser+http://"+node.GeyserAddr(), node.RPCURL()
	s.cfg.Enrich.AllowPrivate = append(s.cfg.Enrich.AllowPrivate, strings.TrimPrefix(node.BaseURL(), "http://"))
	if len(s.cfg.RPC.Upstream) == 0 {
		s.cfg.RPC.Upstream = []string{node.RPCURL()}
	}
	return nil
}

// runDemo starts a node and waits until it serves.
func (s *system) runDemo(ctx context.Context, node *demo.Node) error {
	s.lifecycle.start("demo", node.Run)
	ready := make(chan struct{})
	go func() {
		if node.WaitReady(ctx) == nil {
			close(ready)
		}
	}()
	return s.lifecycle.await(ctx, ready)
}

func isDemo(source string) bool { return source == "demo" || strings.HasPrefix(source, "demo:") }

// resumeDemo lets cfg go on where the chain of the data folder stopped. Its addresses stay too:
// they are part of the tokens' URIs.
func resumeDemo(path, source string, cfg *demo.Config) (demoState, error) {
	if cfg.StartSlot == 0 {
		cfg.StartSlot = max(demoFirstSlot, cfg.GenesisSlot)
	}
	if cfg.GenesisSlot == 0 {
		cfg.GenesisSlot = cfg.StartSlot
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return beginDemo(path, source, cfg)
	}
	if err != nil {
		return demoState{}, fmt.Errorf("demo: read the state of the last run: %w", err)
	}
	var last demoState
	if err := json.Unmarshal(raw, &last); err != nil {
		return demoState{}, fmt.Errorf("demo: %s is damaged (%w): remove the data folder to begin anew", path, err)
	}
	return nextDemo(last, source, cfg), nil
}

// beginDemo names a chain that nobody knows yet, before its first block is there. The name is
// drawn: where the file of a chain was lost, the one that follows is another one, and the data
// folder's rooms refuse it.
func beginDemo(path, source string, cfg *demo.Config) (demoState, error) {
	_, _ = rand.Read(cfg.GenesisHash[:]) // it never fails
	state := demoState{Source: source, GenesisSlot: cfg.GenesisSlot, ParentSlot: cfg.ParentSlot, Slot: cfg.StartSlot - 1, GenesisHash: cfg.GenesisHash}
	// On the disk before the first block: a chain whose name a power cut took is refused.
	return state, state.write(path, durable.Replace)
}

// write leaves the old or the new file after a kill.
func (s *demoState) write(path string, replace func(name string, content []byte) error) error {
	raw, err := json.Marshal(s)
	if err == nil {
		err = replace(path, raw)
	}
	if err != nil {
		return fmt.Errorf("demo: write the state that the next run needs: %w", err)
	}
	return nil
}

// nextDemo goes on with the same chain, or begins another one behind it when that would take too
// long or the settings changed.
func nextDemo(last demoState, source string, cfg *demo.Config) demoState {
	cfg.StartSlot = last.Slot + 1
	cfg.HTTPAddr, cfg.GenesisHash = last.HTTPAddr, last.GenesisHash
	if last.Source == source && cfg.StartSlot-last.GenesisSlot <= maxFastForward {
		cfg.GenesisSlot, cfg.ParentSlot, cfg.Anchors = last.GenesisSlot, last.ParentSlot, last.Anchors
		return last
	}
	cfg.GenesisSlot, cfg.ParentSlot = cfg.StartSlot, last.Slot
	cfg.Seed ^= cfg.StartSlot // other tokens than before
	return demoState{Source: source, GenesisSlot: cfg.StartSlot, ParentSlot: last.Slot, HTTPAddr: last.HTTPAddr, GenesisHash: last.GenesisHash}
}

// rememberDemo writes the state every second. After a kill it is a second behind: those slots are
// made again, byte for byte.
func rememberDemo(ctx context.Context, path string, state demoState, slot func() uint64, logger *slog.Logger) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if state.Slot = slot(); state.Slot == 0 {
			continue
		}
		if err := state.write(path, durable.ReplaceUnsynced); err != nil {
			logger.Warn("a restart of the demo will make slots again", "err", err)
		}
	}
}

func demoCommand() *cobra.Command {
	var source, geyserAddr, httpAddr, state string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the simulated Solana node as a server of its own",
		Long: `Run the simulated Solana node as a server of its own: Yellowstone gRPC, JSON-RPC, metadata and logos.

  mintlake demo --geyser-addr 127.0.0.1:10001 --http-addr 127.0.0.1:8898 &
  mintlake up --source geyser+http://127.0.0.1:10001 --rpc-upstream http://127.0.0.1:8898 --enrich-allow-private 127.0.0.1:8898`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := demo.ParseSource(source)
			if err != nil {
				return err
			}
			for _, addr := range []string{geyserAddr, httpAddr} {
				if _, _, err := net.SplitHostPort(addr); err != nil {
					return fmt.Errorf("demo: address %s: must be host:port", addr)
				}
			}
			cfg.GeyserAddr, cfg.HTTPAddr = geyserAddr, httpAddr
			return serveDemo(cmd.Context(), cfg, source, state)
		},
	}
	cmd.Flags().StringVar(&source, "chain", "demo:", "the chain to make: demo:?tps=&tokens=&seed=…")
	cmd.Flags().StringVar(&geyserAddr, "geyser-addr", "127.0.0.1:10001", "Yellowstone gRPC")
	cmd.Flags().StringVar(&httpAddr, "http-addr", "127.0.0.1:8898", "JSON-RPC, metadata and logos")
	cmd.Flags().StringVar(&state, "state", "", "file that remembers the chain, so that a restart goes on with it; its folder must exist. Give the chain a base_url then")
	return cmd
}

// serveDemo runs a demo node alone. statePath is the file that remembers the chain, empty for none.
func serveDemo(ctx context.Context, cfg demo.Config, source, statePath string) error {
	s := newSystem(defaults(), newLogger(defaults()))
	var state demoState
	if statePath != "" {
		httpAddr := cfg.HTTPAddr
		var err error
		if state, err = resumeDemo(statePath, source, &cfg); err != nil {
			return err
		}
		cfg.HTTPAddr = httpAddr // the operator's, whatever the last run had
	}
	node, err := demo.New(cfg, demo.Deps{Logger: s.logger, Registerer: s.registerer})
	if err != nil {
		return err
	}
	if err = s.runDemo(ctx, node); err == nil {
		if statePath != "" {
			state.HTTPAddr, state.Anchors, state.GenesisHash = node.RPCAddr(), node.Anchors(), node.GenesisHash()
			s.lifecycle.start("demo state", func(ctx context.Context) error {
				rememberDemo(ctx, statePath, state, node.Slot, s.logger)
				return nil
			})
		}
		fmt.Printf("addresses geyser=geyser+http://%s rpc=%s\n", node.GeyserAddr(), node.RPCURL())
		err = s.lifecycle.wait(ctx)
	}
	return errors.Join(err, s.stop())
}
