package main

import (
	"context"
	"time"

	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// noTrades is a market on which every mint has one candle and one pool. Its generation is 0, which
// means that there are no daily volumes. So nobody calls Volumes, which the embedded nil Reader
// would have to answer.
type noTrades struct{ market.Reader }

// Generation implements market.Reader.
func (noTrades) Generation(context.Context) (uint64, error) { return 0, nil }

// Candles implements market.Reader.
func (noTrades) Candles(_ context.Context, _ pubkey.Key, _ market.Interval, from, to time.Time, _ int) ([]market.Candle, error) {
	if !from.Before(to) {
		return []market.Candle{}, nil
	}
	price := 1.5
	return []market.Candle{{Time: from.Unix(), Open: &price, High: &price, Low: &price, Close: &price, VolumeUSD: 7, Trades: 2, Traders: 1}}, nil
}

// Pools implements market.Reader.
func (noTrades) Pools(_ context.Context, mint pubkey.Key, _ int) ([]market.Pool, error) {
	amount := "1"
	return []market.Pool{{Pool: mint.String(), Venue: "orca_whirlpool", MintA: mint.String(), MintB: exampleMint, ReserveA: &amount}}, nil
}

// Venues implements market.Reader.
func (noTrades) Venues(context.Context) (time.Time, []market.Venue, error) {
	return time.Time{}, []market.Venue{}, nil
}
