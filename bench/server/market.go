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
func (noTrades) Candles(_ context.Context, question *market.CandleQuestion) (market.Candles, error) {
	if !question.From.Before(question.To) {
		return market.Candles{Candles: []market.Candle{}}, nil
	}
	price, traders := 1.5, uint64(1)
	return market.Candles{Candles: []market.Candle{{
		Time: question.From.Unix(), Open: &price, High: &price, Low: &price, Close: &price, VolumeUSD: 7, Trades: 2, Traders: &traders,
	}}}, nil
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
