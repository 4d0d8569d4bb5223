package swaps

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector/delivery"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Batch is the content of one batch of records, by table.
type Batch struct {
	Legs   []*eventspb.SwapLeg
	Routes []*eventspb.Route
	// Changes are the changes of liquidity.
	Changes []change

	pools    map[poolKey]*poolRow
	reserves map[poolMinute]reserves
	touched  map[touchedMinute]int64  // offset after the last record of the minute
	trades   map[pubkey.Key]time.Time // block time of the latest leg, by mint
}

// NewBatch returns an empty batch.
func NewBatch() *Batch {
	return &Batch{
		pools: map[poolKey]*poolRow{}, reserves: map[poolMinute]reserves{}, touched: map[touchedMinute]int64{}, trades: map[pubkey.Key]time.Time{},
	}
}

// Add sorts a record into the batch. An error says why the record is not a message of its topic.
// Each leg has two records, one under each of its mints. The one under the mint that went out
// repeats the other and is ignored.
func (b *Batch) Add(record *kafka.Record) error {
	if record.Topic == schemas.TopicPools {
		return b.addPool(record)
	}
	if record.Topic != schemas.TopicSwaps {
		return fmt.Errorf("unexpected topic %q", record.Topic)
	}
	switch kind := string(record.Header(schemas.HeaderType)); kind {
	case schemas.TypeSwapLegOut:
		return nil
	case schemas.TypeSwapLegIn:
		return b.addLeg(record)
	case schemas.TypeRoute:
		return b.addRoute(record.Value)
	case schemas.TypeLiquidity:
		return b.addLiquidity(record)
	default:
		return fmt.Errorf("unexpected type %q", kind)
	}
}

// Keep drops the rows of tables that are not wanted.
func (b *Batch) Keep(wanted func(table string) bool) {
	if !wanted(tableSwaps) {
		b.Legs = nil
	}
	if !wanted(tableRoutes) {
		b.Routes = nil
	}
	if !wanted(tableLiquidity) {
		b.Changes = nil
	}
	if !wanted(tablePools) {
		clear(b.pools)
	}
	if !wanted(tablePoolReserves) {
		clear(b.reserves)
	}
	if !wanted(tableLastTrades) {
		clear(b.trades)
	}
	if !wanted(tableSwapMinutes) {
		clear(b.touched)
	}
}

// addLeg adds a leg, and what it shows of its pool, its minute and the last trades of its mints.
func (b *Batch) addLeg(record *kafka.Record) error {
	leg := new(eventspb.SwapLeg)
	if err := proto.Unmarshal(record.Value, leg); err != nil {
		return fmt.Errorf("decode swap leg: %w", err)
	}
	if err := checkKeys("swap leg", leg.GetPool(), leg.GetMintIn(), leg.GetMintOut()); err != nil {
		return err
	}
	if leg.GetPosition() == nil || leg.GetVenue() == "" {
		return errors.New("swap leg: no position or no venue")
	}
	if bytes.Equal(leg.GetMintIn(), leg.GetMintOut()) {
		return errors.New("swap leg: one mint on both sides")
	}
	if n := len(leg.GetSignature()); n != 64 {
		return fmt.Errorf("swap leg: a signature has %d bytes instead of 64", n)
	}
	b.Legs = append(b.Legs, leg)
	b.addPoolOfLeg(leg)
	if at := delivery.BlockTime(leg.GetBlockTime()); at.Unix() != 0 {
		minute := touchedMinute{at.Truncate(time.Minute), record.Partition}
		b.touched[minute] = max(b.touched[minute], record.Offset+1)
		for _, mint := range []pubkey.Key{keyIn(leg.GetMintIn()), keyIn(leg.GetMintOut())} {
			if at.After(b.trades[mint]) {
				b.trades[mint] = at
			}
		}
	}
	return nil
}

func (b *Batch) addRoute(value []byte) error {
	route := new(eventspb.Route)
	if err := proto.Unmarshal(value, route); err != nil {
		return fmt.Errorf("decode route: %w", err)
	}
	if route.GetPosition() == nil {
		return errors.New("route: no position")
	}
	b.Routes = append(b.Routes, route)
	return nil
}

func checkKeys(what string, keys ...[]byte) error {
	for _, key := range keys {
		if len(key) != pubkey.Size {
			return fmt.Errorf("%s: a key has %d bytes instead of 32", what, len(key))
		}
	}
	return nil
}

// keyIn returns a key of a message; zero if the message does not have it.
func keyIn(raw []byte) pubkey.Key {
	if len(raw) != pubkey.Size {
		return pubkey.Key{}
	}
	return pubkey.Key(raw)
}
