package runner

import (
	"bytes"
	"fmt"
	"time"

	"github.com/mr-tron/base58"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// swaps adds the records of one transaction's swaps to the block's output, and notes the pools that
// its legs show.
func (r *Runner) swaps(out *output, found swap.Result, receivedAt time.Time) error {
	for _, leg := range found.Legs {
		records, err := legRecords(leg, receivedAt)
		if err != nil {
			return err
		}
		out.records = append(out.records, records...)
		out.legs++
		r.metrics.leg(leg)
		out.pool(swap.PoolOf(leg))
	}
	for _, route := range found.Routes {
		record, err := routeRecord(route, receivedAt)
		if err != nil {
			return err
		}
		out.records = append(out.records, record)
		r.metrics.routes.WithLabelValues(route.GetAggregator()).Inc()
	}
	for _, change := range found.Liquidity {
		position := schemas.PositionOf(change.GetPosition(), change.GetSignature())
		record, err := swapRecord(change, schemas.TopicSwaps, schemas.TypeLiquidity, change.GetPool(), &position, receivedAt)
		if err != nil {
			return err
		}
		out.records = append(out.records, record)
		r.metrics.liquidity.WithLabelValues(change.GetVenue()).Inc()
	}
	for _, pool := range found.Pools {
		record, err := poolRecord(pool, receivedAt)
		if err != nil {
			return err
		}
		out.records = append(out.records, record)
		r.metrics.pools.WithLabelValues(pool.GetVenue()).Inc()
		out.pool(pool)
	}
	return nil
}

// pool notes a pool that the block shows. It keeps the first record of each pool, unless a later
// record says that the block created the pool.
func (o *output) pool(pool *eventspb.Pool) {
	if len(pool.GetPool()) != len(pubkey.Key{}) {
		return
	}
	key := pubkey.Key(pool.GetPool())
	if i, ok := o.poolAt[key]; ok {
		if pool.GetCreated() {
			o.pools[i] = pool
		}
		return
	}
	if o.poolAt == nil {
		o.poolAt = make(map[pubkey.Key]int)
	}
	o.poolAt[key] = len(o.pools)
	o.pools = append(o.pools, pool)
}

// introducePools adds a record of each pool that has not been seen yet, or only at higher slots. If
// this block created the pool, the output has the record already.
func (r *Runner) introducePools(j *job) error {
	for _, pool := range j.out.pools {
		if news := r.pools.add(pubkey.Key(pool.GetPool()), j.out.slot); !news || pool.GetCreated() {
			continue
		}
		record, err := poolRecord(pool, j.receivedAt)
		if err != nil {
			return err
		}
		j.out.records = append(j.out.records, record)
		r.metrics.pools.WithLabelValues(pool.GetVenue()).Inc()
	}
	j.out.pools, j.out.poolAt = nil, nil
	return nil
}

// legRecords returns the two records of a leg, one under each of its mints. A leg with the same
// mint on both sides has only the first one.
func legRecords(leg *eventspb.SwapLeg, receivedAt time.Time) ([]kafka.Record, error) {
	position := schemas.PositionOf(leg.GetPosition(), leg.GetSignature())
	in, err := swapRecord(leg, schemas.TopicSwaps, schemas.TypeSwapLegIn, leg.GetMintIn(), &position, receivedAt)
	if err != nil || bytes.Equal(leg.GetMintIn(), leg.GetMintOut()) {
		return []kafka.Record{in}, err
	}
	out := in
	out.Key = []byte(base58.Encode(leg.GetMintOut()))
	out.Headers = headers(schemas.TypeSwapLegOut, receivedAt, &position)
	return []kafka.Record{in, out}, nil
}

// routeRecord returns the record of a route. Its key is the mint that went in, or else the
// aggregator's program.
func routeRecord(route *eventspb.Route, receivedAt time.Time) (kafka.Record, error) {
	key := route.GetMintIn()
	if len(key) == 0 {
		key = route.GetProgramId()
	}
	position := schemas.PositionOf(route.GetPosition(), route.GetSignature())
	return swapRecord(route, schemas.TopicSwaps, schemas.TypeRoute, key, &position, receivedAt)
}

func poolRecord(pool *eventspb.Pool, receivedAt time.Time) (kafka.Record, error) {
	position := schemas.PositionOf(pool.GetPosition(), pool.GetSignature())
	return swapRecord(pool, schemas.TopicPools, schemas.TypePool, pool.GetPool(), &position, receivedAt)
}

func swapRecord(m proto.Message, topic, kind string, key []byte, position *schemas.Position, receivedAt time.Time) (kafka.Record, error) {
	value, err := marshal.Marshal(m)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode %s: %w", kind, err)
	}
	return kafka.Record{
		Topic: topic, Key: []byte(base58.Encode(key)), Value: value, Headers: headers(kind, receivedAt, position),
	}, nil
}
