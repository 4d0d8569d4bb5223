// Package lookup keeps address lookup tables for the transactions of quotes.
//
// In: the addresses of tables, and their accounts over JSON-RPC. Out: the entries that a
// transaction of now may name.
// Guarantees: an entry is only given if the chain's program resolves it in every block in which the
// transaction is valid. A table that is missing, deactivated or malformed is left out and counted;
// it is never an error of a quote.
package lookup

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/sharedcall"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
)

// Program owns the tables.
var Program = pubkey.MustParse("AddressLookupTab1e1111111111111111111111111")

// MaxTables is how many tables may be configured: all are read by one call.
const MaxTables = 32

// Layout of a table (state.rs of the address lookup table program; bincode).
const (
	typeAt          = 0  // u32: 1 for a table
	deactivationAt  = 4  // u64: the slot of its deactivation; the greatest u64 while it is active
	extendedAt      = 12 // u64: the slot in which entries were added last
	extendedStartAt = 20 // u8: how many entries there were before that
	entriesAt       = 56
	entrySize       = 32

	typeTable = 1
	active    = ^uint64(0)
)

// Entries returns the entries of a table that was read at a slot, as far as every later block
// resolves them: entries that were added in that slot itself do not count yet. It is an error if
// the account is no table, or if its table is deactivated. A table that is being deactivated still
// works for about 512 blocks, but a transaction may land later.
func Entries(account *solana.Account, slot uint64) ([]venue.Key, error) {
	switch {
	case account == nil:
		return nil, errors.New("it does not exist")
	case account.Owner != Program:
		return nil, errors.New("its owner is not the address lookup table program")
	case len(account.Data) < entriesAt || (len(account.Data)-entriesAt)%entrySize != 0 || binary.LittleEndian.Uint32(account.Data[typeAt:]) != typeTable:
		return nil, fmt.Errorf("its %d bytes are not those of a table", len(account.Data))
	case binary.LittleEndian.Uint64(account.Data[deactivationAt:]) != active:
		return nil, errors.New("it is deactivated")
	}
	count := (len(account.Data) - entriesAt) / entrySize
	if slot <= binary.LittleEndian.Uint64(account.Data[extendedAt:]) {
		count = min(count, int(account.Data[extendedStartAt]))
	}
	list := make([]venue.Key, count)
	for i := range list {
		list[i] = venue.Key(account.Data[entriesAt+i*entrySize:][:entrySize])
	}
	return list, nil
}

const (
	// fresh is how long after a reading the next one begins.
	fresh = 30 * time.Second
	// retry is how long after a reading that failed the next one is tried.
	retry = 2 * time.Second
	// usable is how long a reading is used at most. A table works for 512 blocks after its
	// deactivation, and a transaction is valid for 150 of them. The other 362 blocks take 72 s at
	// 200 ms a slot, and 54 s at 150 ms.
	usable = 45 * time.Second
	// patience bounds a reading.
	patience = 10 * time.Second
)

// RPC reads accounts: *solana.Client.
type RPC interface {
	GetMultipleAccounts(ctx context.Context, keys []pubkey.Key, opts solana.AccountOptions) (uint64, []*solana.Account, error)
}

// Deps are the collaborators. Logger and Registerer may be nil.
type Deps struct {
	RPC        RPC
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Book has the tables that transactions may use. It is safe for concurrent use.
type Book struct {
	addresses []venue.Key
	deps      Deps
	// reads lets one call at a time read the tables. Only that call uses refused: why each table
	// was left out the last time, empty if it was not.
	reads    sharedcall.Group[struct{}]
	refused  map[venue.Key]string
	held     atomic.Pointer[reading]
	readings *prometheus.CounterVec
}

// reading is what was read at the time at. From next on the tables are read again. failures counts
// the attempts since at that failed.
type reading struct {
	tables   []txn.Table
	at, next time.Time
	failures uint
}

// usable returns the tables of a reading, if it is not too old.
func (r *reading) usable(now time.Time) []txn.Table {
	if now.Sub(r.at) >= usable {
		return nil
	}
	return r.tables
}

// New makes a book of the tables with these addresses, in the order in which transactions prefer
// them. It does no I/O.
func New(addresses []venue.Key, deps Deps) (*Book, error) {
	if len(addresses) > MaxTables {
		return nil, fmt.Errorf("%d lookup tables are too many: at most %d", len(addresses), MaxTables)
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	b := &Book{addresses: addresses, deps: deps, refused: map[venue.Key]string{}, readings: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_swap_lookup_readings_total", Help: "Readings of address lookup tables, by outcome (read, failed).",
	}, []string{"outcome"})}
	counters.Preset(b.readings, []string{"read", "failed"})
	b.held.Store(&reading{})
	if deps.Registerer == nil {
		return b, nil
	}
	tables := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_swap_lookup_tables", Help: "Address lookup tables that transactions may use, of those that are configured.",
	}, func() float64 { return float64(len(b.held.Load().tables)) })
	for _, c := range []prometheus.Collector{b.readings, tables} {
		if err := deps.Registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return b, nil
}

// Get returns what Tables returns, without I/O. ok is false if the tables must be read.
func (b *Book) Get() (tables []txn.Table, ok bool) {
	if len(b.addresses) == 0 {
		return nil, true
	}
	held, now := b.held.Load(), b.deps.Now()
	if !now.Before(held.next) {
		return nil, false
	}
	return held.usable(now), true
}

// Tables returns the tables that a transaction of now may use: those of the last reading. One call
// in the background reads them again every 30 s. Tables waits for that call only if the last
// reading is older than usable, and no call has failed a moment ago.
func (b *Book) Tables(ctx context.Context) []txn.Table {
	if tables, ok := b.Get(); ok {
		return tables
	}
	held, now := b.held.Load(), b.deps.Now()
	reading := b.reads.Begin(ctx, "", patience, func(ctx context.Context) (struct{}, error) {
		b.refresh(ctx)
		return struct{}{}, nil
	})
	failed := held.failures > 0 && now.Sub(held.next) < fresh
	if failed || now.Sub(held.at) < usable {
		return held.usable(now)
	}
	if _, err := reading.Wait(ctx); err != nil {
		return nil
	}
	return b.held.Load().usable(now)
}

// refresh reads the tables, unless that was just done. If it fails, the last reading stays in use.
func (b *Book) refresh(ctx context.Context) {
	held, now := b.held.Load(), b.deps.Now()
	if now.Before(held.next) {
		return
	}
	tables, err := b.read(ctx)
	if err == nil {
		b.readings.WithLabelValues("read").Inc()
		b.held.Store(&reading{tables: tables, at: now, next: now.Add(fresh)})
		return
	}
	b.readings.WithLabelValues("failed").Inc()
	failures := held.failures + 1
	if bits.OnesCount(failures) == 1 { // sampled
		b.deps.Logger.Warn("lookup tables cannot be read", "failures", failures, "err", err)
	}
	b.held.Store(&reading{held.tables, held.at, now.Add(retry), failures})
}

// read reads all tables. It reads at commitment confirmed: an entry of a block that is only
// processed may be lost with the block.
func (b *Book) read(ctx context.Context) ([]txn.Table, error) {
	slot, accounts, err := b.deps.RPC.GetMultipleAccounts(ctx, b.addresses, solana.AccountOptions{Commitment: solana.Confirmed})
	if err != nil {
		return nil, err
	}
	var tables []txn.Table
	for i, address := range b.addresses {
		entries, err := Entries(accounts[i], slot)
		why := ""
		if err == nil {
			tables = append(tables, txn.NewTable(address, entries))
		} else {
			why = err.Error()
		}
		if why != "" && why != b.refused[address] {
			b.deps.Logger.Warn("a lookup table is not used", "table", address.String(), "err", err)
		}
		b.refused[address] = why
	}
	return tables, nil
}
