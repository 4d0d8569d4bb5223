// Package audit compares the registry with the chain's own accounts.
//
// In: mints and their rows from ClickHouse; mint and Metaplex accounts over JSON-RPC. Out: a Report
// of how many fields agree, and of those that do not. Guarantees: it writes nothing. It compares
// what the accounts say at the slot of the read with the registry as of that slot, so a busy token
// is not an error. A field that has changed since, or a row that is not there yet, is read again; a
// field that changes before every comparison is reported as moved. The same seed takes the same
// sample of the same registry.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

const (
	// batchMints is how many mints fill one call of getMultipleAccounts. Each mint takes two
	// accounts: its own and its Metaplex account.
	batchMints = solana.MaxAccountsPerCall / 2
	// pageMints is how many mints are read before their rows are compared. It bounds the memory,
	// and the time in which a row can change.
	pageMints = 2000
	// accountLength bounds what is read of an account, in bytes. A Token-2022 extension has at most
	// 64 KiB, and only one extension of a mint can be that large.
	accountLength = 256 << 10
	// lookEvery is the time between two checks of how far the registry is.
	lookEvery = 200 * time.Millisecond
)

// Registry is what is audited. *ClickHouse is one.
type Registry interface {
	// Sample returns n random mints of the registry, the same ones for the same seed and registry;
	// all of them if n is 0.
	Sample(ctx context.Context, n int, seed uint64) ([]pubkey.Key, error)
	// Slot returns the highest slot that the registry has seen; 0 if it has seen none.
	Slot(ctx context.Context) (uint64, error)
	// Rows returns the rows of the mints that it knows.
	Rows(ctx context.Context, mints []pubkey.Key) (map[pubkey.Key]Row, error)
}

// RPC reads accounts. *solana.Client is one.
type RPC interface {
	GetMultipleAccounts(ctx context.Context, keys []pubkey.Key, opts solana.AccountOptions) (contextSlot uint64, accounts []*solana.Account, err error)
}

// Config configures an Auditor. A zero value takes the field's default, if it has one.
type Config struct {
	// Sample is how many mints to compare; 0 = all.
	Sample int
	// Seed chooses the mints of the sample.
	Seed uint64
	// Commitment is that of the reads. Default confirmed, as the registry's own source.
	Commitment solana.Commitment
	// Wait is how long the registry may take to reach the slot of a read. If it is 0, the audit
	// does not wait: it compares a registry that has stopped with a chain that has gone on.
	Wait time.Duration
	// settle is how long the audit waits for the rows after the registry has reached the slot of a
	// read. Default 1 s.
	settle time.Duration
	// headWait is how long the audit waits for the chain to reach the slots of the registry's
	// facts. It waits once in an audit. Facts that are above the chain's head after that are wrong.
	// Default 10 s.
	headWait time.Duration
	// Rounds is how often a mint is compared at most, the first time included. It is compared again
	// while something differs or moves. Default 4.
	Rounds int
	// CallsPerSecond bounds the calls of getMultipleAccounts, 50 mints each. Default 10.
	CallsPerSecond float64
	// MaxDifferences bounds the differences listed in the report; all are counted. Default 100.
	MaxDifferences int
}

func (c Config) withDefaults() Config {
	c.Commitment = cmp.Or(c.Commitment, solana.Confirmed)
	c.settle = cmp.Or(c.settle, time.Second)
	c.headWait = cmp.Or(c.headWait, 10*time.Second)
	c.Rounds = cmp.Or(c.Rounds, 4)
	c.CallsPerSecond = cmp.Or(c.CallsPerSecond, 10)
	c.MaxDifferences = cmp.Or(c.MaxDifferences, 100)
	return c
}

func (c Config) problems() error {
	var problems []error
	for _, rule := range []struct {
		key string
		ok  bool
	}{
		{"sample", c.Sample >= 0}, {"wait", c.Wait >= 0}, {"settle", c.settle > 0}, {"rounds", c.Rounds > 0},
		{"calls_per_second", c.CallsPerSecond > 0}, {"max_differences", c.MaxDifferences > 0},
	} {
		if !rule.ok {
			problems = append(problems, fmt.Errorf("audit: %s must not be negative", rule.key))
		}
	}
	return errors.Join(problems...)
}

// Deps are the collaborators of an Auditor.
type Deps struct {
	Registry Registry
	RPC      RPC
	// Logger may be nil: then nothing is logged.
	Logger *slog.Logger
	// Meter shows how many mints of a round have been read. It may be nil.
	Meter meter.Meter
}

// Auditor compares a registry with the chain.
type Auditor struct {
	cfg      Config
	registry Registry
	rpc      RPC
	logger   *slog.Logger
	meter    meter.Meter
	calls    *rate.Limiter
	// waited says that headWait is used up: the audit does not wait for the chain again.
	waited bool
}

// New checks the configuration. It reports all problems at once.
func New(cfg Config, deps Deps) (*Auditor, error) {
	cfg = cfg.withDefaults()
	problems := []error{cfg.problems()}
	if deps.Registry == nil || deps.RPC == nil {
		problems = append(problems, errors.New("audit: a registry and an RPC client are required"))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	return &Auditor{cfg: cfg, registry: deps.Registry, rpc: deps.RPC, logger: deps.Logger, meter: deps.Meter, calls: pause.Evenly(cfg.CallsPerSecond)}, nil
}

// ErrBehind means that the registry did not reach the slot of a read within Config.Wait.
var ErrBehind = errors.New("the registry has not reached the slot of the read")

// Run takes the sample and compares it. It returns ErrBehind, the context's error, or what Registry
// and RPC return.
func (a *Auditor) Run(ctx context.Context) (*Report, error) {
	mints, err := a.registry.Sample(ctx, a.cfg.Sample, a.cfg.Seed)
	if err != nil {
		return nil, fmt.Errorf("take the sample: %w", err)
	}
	report := newReport(a.cfg, len(mints))
	troubled := map[pubkey.Key]bool{}
	for round := 1; len(mints) > 0 && round <= a.cfg.Rounds; round++ {
		again, err := a.round(ctx, round, mints, report, troubled)
		if err != nil {
			return nil, err
		}
		a.logger.Info("audit round done", "round", round, "mints", len(mints), "again", len(again))
		mints = again
		report.Rounds = round
	}
	report.finish()
	return report, nil
}

// round compares mints. It reports those that are settled, and returns those to read again, which
// it also adds to troubled. The last round reports all mints.
func (a *Auditor) round(ctx context.Context, round int, mints []pubkey.Key, report *Report, troubled map[pubkey.Key]bool) (again []pubkey.Key, err error) {
	count, end := a.meter.Begin(fmt.Sprintf("audit, round %d", round), "mints", int64(len(mints)))
	defer end()
	for page := range slices.Chunk(mints, pageMints) {
		results, err := a.page(ctx, page, report, count)
		if err != nil {
			return nil, err
		}
		for _, result := range results {
			if round < a.cfg.Rounds && result.unsettled(round == 1) {
				again = append(again, result.mint)
				troubled[result.mint] = true
				continue
			}
			report.add(result, troubled[result.mint])
		}
	}
	return again, nil
}

// mintRead is what the chain has of one mint at slot. An account that does not exist is nil.
type mintRead struct {
	mint            pubkey.Key
	slot            uint64
	mintAccount     *solana.Account
	metaplexAccount *solana.Account
}

// page reads the mints' accounts, waits until the registry has reached their slots, and compares.
func (a *Auditor) page(ctx context.Context, mints []pubkey.Key, report *Report, count func(int64)) ([]result, error) {
	var accounts []mintRead
	for batch := range slices.Chunk(mints, batchMints) {
		read, err := a.read(ctx, batch)
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, read...)
		count(int64(len(batch)))
	}
	highest := uint64(0)
	for i := range accounts {
		highest = max(highest, accounts[i].slot)
		report.sawSlot(accounts[i].slot)
	}
	at, err := a.await(ctx, highest)
	if err != nil {
		return nil, err
	}
	report.RegistrySlot = max(report.RegistrySlot, at)
	rows, err := a.registry.Rows(ctx, mints)
	if err != nil {
		return nil, fmt.Errorf("read the registry's rows: %w", err)
	}
	head, err := a.head(ctx, mints[0], highest, rows)
	if err != nil {
		return nil, err
	}
	results := make([]result, 0, len(accounts))
	for i := range accounts {
		row, known := rows[accounts[i].mint]
		results = append(results, compare(&accounts[i], row, known, head))
	}
	return results, nil
}

// head returns the chain's head. slot is a slot that the chain has reached. Only if a row has a
// fact above it, head asks for the chain's slot: the chain may have gone on, or the fact is wrong.
// To ask, it reads the accounts of probe, which may be any mint.
func (a *Auditor) head(ctx context.Context, probe pubkey.Key, slot uint64, rows map[pubkey.Key]Row) (uint64, error) {
	highest := slot
	for _, row := range rows {
		for _, fact := range row.Facts {
			if fromChain(fact.Register) {
				highest = max(highest, fact.Position.Slot)
			}
		}
	}
	deadline := time.Now().Add(a.cfg.headWait)
	for head := slot; ; {
		if head >= highest || a.waited && head > slot {
			return head, nil
		}
		read, err := a.read(ctx, []pubkey.Key{probe})
		if err != nil {
			return 0, err
		}
		if head = max(head, read[0].slot); head >= highest {
			return head, nil
		}
		if a.waited = a.waited || time.Now().After(deadline); a.waited {
			return head, nil
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			return 0, err
		}
	}
}

// read reads the accounts of up to batchMints mints at one slot.
func (a *Auditor) read(ctx context.Context, mints []pubkey.Key) ([]mintRead, error) {
	accounts := make([]mintRead, len(mints))
	keys := make([]pubkey.Key, 0, 2*len(mints))
	for i, mint := range mints {
		// If no address is off the curve (once in 2^256), there is no Metaplex account. The mint's
		// own key then fills the place.
		metaplex, ok := tokenaccount.MetaplexAddress(mint)
		if !ok {
			metaplex = mint
		}
		accounts[i] = mintRead{mint: mint}
		keys = append(keys, mint, metaplex)
	}
	if err := pause.Await(ctx, a.calls); err != nil {
		return nil, err
	}
	slot, found, err := a.rpc.GetMultipleAccounts(ctx, keys, solana.AccountOptions{
		Commitment: a.cfg.Commitment, DataSlice: &solana.DataSlice{Length: accountLength},
	})
	if err == nil && len(found) != len(keys) {
		err = fmt.Errorf("%w: %d accounts for %d keys", solana.ErrMalformed, len(found), len(keys))
	}
	if err != nil {
		return nil, fmt.Errorf("read accounts: %w", err)
	}
	for i := range accounts {
		accounts[i].slot, accounts[i].mintAccount, accounts[i].metaplexAccount = slot, found[2*i], found[2*i+1]
	}
	return accounts, nil
}

// await waits until the registry has reached slot and its rows had time to follow. It returns the
// registry's slot. If Config.Wait is 0, it does not wait; if Config.Wait is over, it returns
// ErrBehind. Events and the ledger are in different partitions, so the ledger may be ahead for a
// moment. The next round finds what is still missing.
func (a *Auditor) await(ctx context.Context, slot uint64) (uint64, error) {
	deadline := time.Now().Add(a.cfg.Wait)
	for {
		at, err := a.registry.Slot(ctx)
		if err != nil {
			return 0, fmt.Errorf("read the registry's slot: %w", err)
		}
		switch {
		case at >= slot:
			return at, pause.For(ctx, a.cfg.settle)
		case a.cfg.Wait == 0:
			return at, nil
		case time.Now().After(deadline):
			return 0, fmt.Errorf("%w: it is at %d, the read at %d", ErrBehind, at, slot)
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			return 0, err
		}
	}
}
