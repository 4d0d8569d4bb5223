// Package market reads the figures that are made of swaps: daily volumes for the API's replica, and
// candles, pools and venues for requests.
//
// In: ClickHouse, where package volume keeps the figures. Out: Volumes, Candle, Pool, Venue.
// Guarantees: it only reads, and within bounds. While ClickHouse does not answer, the volumes stay
// as they were.
package market

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Ranking is the figure that tokens are ordered by.
type Ranking string

// Rankings.
const (
	// RankingVolume is daily_volume_usd itself.
	RankingVolume Ranking = "volume"
	// RankingUser counts the net amount of each transaction only.
	RankingUser Ranking = "user_volume"
	// RankingOrganic counts what resists wash trading.
	RankingOrganic Ranking = "organic_volume"
)

// Rankings returns all rankings.
func Rankings() []Ranking { return []Ranking{RankingVolume, RankingUser, RankingOrganic} }

// Pool is a pool that holds a mint.
type Pool struct {
	Pool      string  `json:"pool"`
	Venue     string  `json:"venue"`
	MintA     string  `json:"mint_a"`
	MintB     string  `json:"mint_b"`
	ReserveA  *string `json:"reserve_a"` // raw amounts as decimal strings
	ReserveB  *string `json:"reserve_b"`
	CreatedAt *int64  `json:"created_at"` // Unix milliseconds
	// DailyVolumeUSD is the volume in the 24 hourly buckets up to the latest valuation; null if the
	// pool did not trade in them, or no trade has a value.
	DailyVolumeUSD *float64 `json:"daily_volume_usd"`
	Trades         uint64   `json:"trades"`
	// LPMint is the mint of the pool's liquidity tokens; nil if the pool has no such mint, or it is
	// not known.
	LPMint *string `json:"lp_mint"`
}

// Venue is what was traded on a venue in 24 hours.
type Venue struct {
	Venue     string  `json:"venue"`
	VolumeUSD float64 `json:"volume_usd"`
	// AggregatedUSD is the part of VolumeUSD that came through aggregators.
	AggregatedUSD float64 `json:"aggregated_usd"`
	Trades        uint64  `json:"trades"`
	// Unpriced counts trades without a value in US dollars.
	Unpriced uint64 `json:"unpriced"`
}

// Reader reads the figures: *ClickHouse.
type Reader interface {
	// Generation returns the number of the latest daily volumes; 0 if there are none yet.
	Generation(ctx context.Context) (uint64, error)
	// Volumes returns the daily volumes of a generation, or of a later generation if there is one
	// by now. of is the generation of the result. If all is set, it also returns the last trades of
	// mints that have no daily figures any more.
	Volumes(ctx context.Context, generation uint64, ranking Ranking, all bool) (list []replica.Volume, of uint64, err error)
	// Candles returns the newest candles that a question asks for, sorted from the oldest to the
	// newest.
	Candles(ctx context.Context, question *CandleQuestion) (Candles, error)
	// Pools returns at most limit pools of a mint, the highest daily volume first.
	Pools(ctx context.Context, mint pubkey.Key, limit int) ([]Pool, error)
	// PoolLiquidity returns at most limit changes of a pool's liquidity: the newest before a
	// cursor.
	PoolLiquidity(ctx context.Context, pool pubkey.Key, before LiquidityCursor, limit int) (LiquidityPage, error)
	// PoolReserves returns what a pool held in the newest limit hours of block time in which a leg
	// or a change states it, oldest first. The hours begin at from or later, and before to.
	PoolReserves(ctx context.Context, pool pubkey.Key, from, to time.Time, limit int) ([]Reserves, error)
	// MintLiquidity returns what the pools of a mint held at the end of each of the newest limit
	// hours, oldest first. An hour is left out if no pool stated its reserves in the 24 hours up to
	// its end.
	MintLiquidity(ctx context.Context, mint pubkey.Key, from, to time.Time, limit int) ([]Liquidity, error)
	// Venues returns the venues with what was traded on them in 1,440 minutes of block time, the
	// highest volume first. asOf is in the last of these minutes. It is zero if there are no
	// venues.
	Venues(ctx context.Context) (asOf time.Time, venues []Venue, err error)
}

// pollEvery is how often new daily volumes are looked for. Usually they are made each ten seconds,
// and they must be seen within a minute.
const pollEvery = 10 * time.Second

// Poller passes daily volumes to the API's replica.
type Poller struct {
	Reader  Reader
	Ranking Ranking
	Set     func([]replica.Volume)
	// Ready returns whether the replica is loaded. Before that, to set figures would only delay the
	// facts.
	Ready  func() bool
	Logger *slog.Logger
}

// Run polls until ctx ends; then it returns nil.
func (p *Poller) Run(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var have uint64
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
		}
		generation, err := p.poll(ctx, have)
		if err != nil && !failing && ctx.Err() == nil {
			p.Logger.Warn("daily volumes cannot be read, they stay as they are", "err", err)
		}
		if failing = err != nil; !failing {
			have = generation
		}
	}
}

// poll passes on the latest daily volumes, unless their generation is have, which was passed on
// before. The first time, it also passes on the last trades of mints without daily figures. It
// returns the generation that was passed on last.
func (p *Poller) poll(ctx context.Context, have uint64) (uint64, error) {
	generation, err := p.Reader.Generation(ctx)
	if err != nil || generation == have {
		return have, err
	}
	list, generation, err := p.Reader.Volumes(ctx, generation, p.Ranking, have == 0)
	if err != nil {
		return have, fmt.Errorf("read daily volumes: %w", err)
	}
	p.Set(list)
	return generation, nil
}
