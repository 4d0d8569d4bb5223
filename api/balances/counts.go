package balances

import (
	"context"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Count is the last count of a mint's holders.
type Count struct {
	replica.HolderCount
	// At is when the holders were counted.
	At time.Time
}

// Past is the number of holders of a mint 24 hours of block time before the latest hour in which
// any mint was counted.
type Past struct {
	Mint pubkey.Key
	// Before is that number; nil if the mint was not counted until then.
	Before *uint64
	// Cut is the time at which these 24 hours begin.
	Cut time.Time
}

// Counts implements Reader.
func (c *ClickHouse) Counts(ctx context.Context, since time.Time, each func(Count)) error {
	query, args := "SELECT mint, holders, toFloat64(top10), toFloat64(balance), counted_at FROM {db}.holder_counts_raw", []any(nil)
	if since.IsZero() {
		query += " FINAL"
	} else {
		// Few rows pass, so sorting them is cheaper than merging the copies of all rows with FINAL.
		query += " WHERE counted_at >= fromUnixTimestamp64Milli({since:Int64}) ORDER BY counted_at"
		args = append(args, clickhouse.Named("since", int(since.UnixMilli())))
	}
	return c.read(ctx, c.counts, func(rows driver.Rows) error {
		var text string
		var count Count
		if err := rows.Scan(&text, &count.Holders, &count.Top10, &count.Balance, &count.At); err != nil {
			return err
		}
		var err error
		if count.Mint, err = pubkey.Parse(text); err != nil {
			return err
		}
		each(count)
		return nil
	}, query, args...)
}

// Changes implements Reader.
func (c *ClickHouse) Changes(ctx context.Context, each func(Past)) error {
	return c.read(ctx, c.counts, func(rows driver.Rows) error {
		var text string
		var past Past
		if err := rows.Scan(&text, &past.Before, &past.Cut); err != nil {
			return err
		}
		var err error
		if past.Mint, err = pubkey.Parse(text); err != nil {
			return err
		}
		each(past)
		return nil
	}, `WITH (SELECT max(hour) - INTERVAL 24 HOUR FROM {db}.holder_counts_1h_raw) AS cut
		SELECT mint, if(countIf(hour <= cut) = 0, NULL, argMaxIf(holders, (hour, as_of_slot), hour <= cut)), any(cut)
		FROM {db}.holder_counts_1h_raw WHERE mint IN (SELECT mint FROM {db}.holder_counts_1h_raw WHERE hour > cut) GROUP BY mint`)
}

const (
	// pollEvery is how often new counts are looked for.
	pollEvery = 15 * time.Second
	// reloadEvery is how often all counts are read again. The replica ignores the count of a mint
	// that is not a member, and the mint may have become one since.
	reloadEvery = time.Hour
	// changesEvery is how often the changes of 24 hours are computed.
	changesEvery = 5 * time.Minute
	// overlap is how much earlier than the latest count the next look begins. A count may become
	// visible late, and its mint may become a member after the count.
	overlap = 2 * time.Minute
	// batch is how many counts one call of Set gets at most.
	batch = 4_096
)

// Poller passes the counts of holders to the API's replica.
type Poller struct {
	Reader Reader
	// Set and SetChanges are the replica's SetHolders and SetHolderChanges.
	Set        func([]replica.HolderCount)
	SetChanges func([]replica.HolderChange)
	// Ready returns whether the replica is loaded.
	Ready  func() bool
	Logger *slog.Logger

	// latest is when the newest count that was read was made. loaded and compared are when all
	// counts, and the changes of 24 hours, were read last.
	latest           time.Time
	loaded, compared time.Time
}

// Run polls until ctx ends; then it returns nil.
func (p *Poller) Run(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	failing, next := false, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			if now.Before(next) || !p.Ready() {
				continue
			}
			next = now.Add(pollEvery)
			err := p.Poll(ctx, now)
			if err != nil && !failing && ctx.Err() == nil {
				p.Logger.Warn("counts of holders cannot be read, they stay as they are", "err", err)
			}
			failing = err != nil
		}
	}
}

// Poll looks once for new counts.
func (p *Poller) Poll(ctx context.Context, now time.Time) error {
	since := p.latest.Add(-overlap)
	if now.Sub(p.loaded) >= reloadEvery {
		since = time.Time{}
	}
	list, latest := make([]replica.HolderCount, 0, batch), p.latest
	err := p.Reader.Counts(ctx, since, func(count Count) {
		list = append(list, count.HolderCount)
		if latest.Before(count.At) {
			latest = count.At
		}
		if len(list) == batch {
			p.Set(list)
			list = list[:0]
		}
	})
	if err != nil {
		return err
	}
	p.Set(list)
	// As long as there is no count at all, each look is for all counts.
	if p.latest = latest; since.IsZero() && !latest.IsZero() {
		p.loaded = now
	}
	if now.Sub(p.compared) < changesEvery || latest.IsZero() {
		return nil
	}
	return p.compare(ctx, now)
}

// compare reads the changes of 24 hours and passes them on.
func (p *Poller) compare(ctx context.Context, now time.Time) error {
	var changes []replica.HolderChange
	err := p.Reader.Changes(ctx, func(past Past) {
		changes = append(changes, replica.HolderChange{Mint: past.Mint, Before: past.Before, Cut: past.Cut})
	})
	if err != nil {
		return err
	}
	p.SetChanges(changes)
	p.compared = now
	return nil
}
