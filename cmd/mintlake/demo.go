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

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/operate/eventlog"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxFastForward bounds the slots that a restarted demo computes again before it goes on: about a
// minute of work at 100 transactions per second. If the chain is longer, another one begins after
// its last slot.
const maxFastForward = 50_000

// demoFirstSlot is the first slot of a demo chain if its source names none: about the slot of
// mainnet at the beginning of 2026.
const demoFirstSlot = 400_000_000

// demoState is a file in the data folder from which a restart continues the same chain.
type demoState struct {
	Source string `json:"source"`
	// ChainVersion is that of the code that made the chain; 0 in the files of earlier versions.
	ChainVersion int    `json:"chain_version"`
	GenesisSlot  uint64 `json:"genesis_slot"`
	// Past is how long the chain's market went on before its first live slot.
	Past       time.Duration `json:"past"`
	ParentSlot uint64        `json:"parent_slot"`
	Slot       uint64        `json:"slot"`
	HTTPAddr   string        `json:"http_addr"`
	// GenesisHash identifies the chain, even after its settings have changed. It is zero in the
	// files of earlier versions.
	GenesisHash pubkey.Key `json:"genesis_hash"`
	// Anchors are the chain's clock: slots that are computed again get the same block times.
	Anchors []demo.Anchor `json:"anchors"`
}

// startDemo runs the demo chain if it is the source. The demo node becomes the RPC upstream too,
// unless one is configured.
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
	if cfg.Checkpoints, err = s.cfg.dataPath("demo-checkpoints"); err != nil {
		return err
	}
	lost := func(damaged error) (demoState, bool, error) { return s.demoOfLog(ctx, path, damaged) }
	state, err := resumeDemo(path, s.cfg.Source[0], &cfg, s.freeAddress, lost)
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
	if state.Past > 0 {
		s.demoFrom = &state.GenesisSlot
	}
	s.demoGeyser, s.demoRPC, s.demoList = "geyser+http://"+node.GeyserAddr(), node.RPCURL(), node.TokenList
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

// freeAddress reports whether addr, the address of the demo's last run, is free. If another program
// listens there, it logs what follows. That may happen, because the operating system chose the
// address.
func (s *system) freeAddress(addr string) bool {
	listener, err := net.Listen("tcp", addr)
	if err == nil {
		return listener.Close() == nil
	}
	s.logger.Warn("the demo's address of its last run is taken: another chain begins behind the last slot, at a free address; logos and metadata of earlier tokens can no longer be read",
		"addr", addr, "err", err)
	return false
}

// resumeDemo changes cfg so that the chain of the state file goes on. The HTTP address stays the
// same too, if it is free, because it is part of the tokens' URIs. Without a state file a new chain
// begins. If the file is damaged, lost returns what else is known of the last run; if lost is nil,
// that is an error. lost is not asked about a missing file, which may never have been there.
func resumeDemo(path, source string, cfg *demo.Config, free func(addr string) bool, lost func(damaged error) (demoState, bool, error)) (demoState, error) {
	*cfg = cfg.WithSlots()
	var last demoState
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return beginDemo(path, source, cfg)
	}
	if err == nil {
		err = json.Unmarshal(raw, &last)
	}
	if err == nil && last.GenesisSlot == 0 {
		err = errors.New("it names no slot")
	}
	switch {
	case err == nil:
		return nextDemo(last, source, cfg, last.HTTPAddr == "" || free(last.HTTPAddr)), nil
	case lost == nil:
		return demoState{}, fmt.Errorf("demo: %s is damaged (%w): remove it to begin another chain", path, err)
	}
	last, known, err := lost(err)
	if err != nil {
		return demoState{}, err
	}
	if !known {
		return beginDemo(path, source, cfg)
	}
	state := nextDemo(last, source, cfg, true)
	return state, state.write(path, durable.Replace) // now, so that a run of any length leaves it
}

// demoOfLog returns what the log knows of a demo chain whose state file is damaged: its genesis
// hash and its last slot, so that another chain can begin behind it. It returns false if the log
// knows no chain. It puts the damaged file aside.
func (s *system) demoOfLog(ctx context.Context, path string, damaged error) (last demoState, ok bool, err error) {
	deps, err := kafkaDeps(s.cfg, s.logger, nil)
	if err != nil {
		return last, false, err
	}
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: s.backends.brokers}, deps)
	if err != nil {
		return last, false, err
	}
	defer admin.Close()
	if err := ensureTopics(ctx, s.cfg, admin); err != nil {
		return last, false, err
	}
	log := eventlog.Kafka{Brokers: s.backends.brokers, Admin: admin, Deps: deps}.Topics("demo")
	told, ok, err := (&identityLog{topic: log}).Remembered(ctx)
	if err == nil {
		err = durable.PutAside(path)
	}
	if err != nil || !ok {
		return last, false, err
	}
	last.GenesisHash, last.Slot = told.Hash, demoFirstSlot
	err = eventlog.ReadSlots(ctx, log, func(slot *eventspb.SlotRecord) { last.Slot = max(last.Slot, slot.GetSlot()) })
	if err != nil {
		return last, false, fmt.Errorf("demo: %s is damaged (%w), and the log cannot be read: %w", path, damaged, err)
	}
	last.Slot++ // the next chain's first block must not have a parent in the last chain
	s.logger.Warn("the demo's state of its last run is damaged and made anew from the log: another chain begins behind the last slot; logos and metadata of earlier tokens can no longer be read",
		"file", path, "slot", last.Slot, "err", damaged)
	return last, true, nil
}

// beginDemo makes the state of a new chain, with a random genesis hash. If the state file of a
// chain is lost, the next chain has another hash, and the rooms of the data folder refuse it.
func beginDemo(path, source string, cfg *demo.Config) (demoState, error) {
	_, _ = rand.Read(cfg.GenesisHash[:]) // never fails
	state := demoState{Source: source, ChainVersion: demo.ChainVersion, GenesisSlot: cfg.GenesisSlot, Past: cfg.Past, ParentSlot: cfg.ParentSlot, Slot: cfg.StartSlot - 1, GenesisHash: cfg.GenesisHash}
	// Synced to disk before the first block: if a power cut lost the hash, the rooms would refuse
	// the next chain.
	return state, state.write(path, durable.Replace)
}

// write replaces the state file. After a kill either the old or the new file is there.
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

// nextDemo continues the same chain. If that would take too long, the settings or the code have
// changed, or its address is not free, it begins another chain after the last slot. That chain has
// the genesis hash of the last one, so the rooms accept it, and no past: it would be at the same
// time as the last one's blocks.
func nextDemo(last demoState, source string, cfg *demo.Config, free bool) demoState {
	cfg.StartSlot = last.Slot + 1
	if !free {
		last.HTTPAddr = "" // the system chooses a free one
	}
	cfg.HTTPAddr, cfg.GenesisHash = last.HTTPAddr, last.GenesisHash
	if free && last.Source == source && last.ChainVersion == demo.ChainVersion && cfg.StartSlot-last.GenesisSlot <= maxFastForward {
		cfg.GenesisSlot, cfg.Past, cfg.ParentSlot, cfg.Anchors = last.GenesisSlot, last.Past, last.ParentSlot, last.Anchors
		return last
	}
	cfg.GenesisSlot, cfg.ParentSlot, cfg.Past = cfg.StartSlot, last.Slot, 0
	cfg.Seed ^= cfg.StartSlot // other tokens than before
	return demoState{
		Source: source, ChainVersion: demo.ChainVersion, GenesisSlot: cfg.StartSlot, ParentSlot: last.Slot, Slot: last.Slot,
		HTTPAddr: last.HTTPAddr, GenesisHash: last.GenesisHash,
	}
}

// rememberDemo writes the state every second. After a kill it is up to a second old: those slots
// are computed again, byte for byte the same.
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
		Args: cli.Arguments,
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

// serveDemo runs only a demo node. statePath is the file that remembers the chain; empty means
// none.
func serveDemo(ctx context.Context, cfg demo.Config, source, statePath string) error {
	s := newSystem(defaults(), newLogger(defaults()))
	var state demoState
	if statePath != "" {
		httpAddr := cfg.HTTPAddr
		cfg.Checkpoints = statePath + "-checkpoints"
		var err error
		if state, err = resumeDemo(statePath, source, &cfg, func(string) bool { return true }, nil); err != nil {
			return err
		}
		cfg.HTTPAddr = httpAddr // the operator's address, not that of the last run
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
