package swaps

import (
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

// poolKey is a pool and its two mints, of which mintA sorts first as text. A mint is zero if no
// record names it.
type poolKey struct{ pool, mintA, mintB pubkey.Key }

// poolMinute is a pool in a minute of block time.
type poolMinute struct {
	minute time.Time
	poolKey
}

// touchedMinute is a minute of block time with legs in a partition of chain.swaps.v1, or with pools
// created in one of chain.pools.v1 (see poolPartition).
type touchedMinute struct {
	minute    time.Time
	partition int
}

// reserves are vault balances after the leg at a position.
type reserves struct {
	position schemas.Position
	time     time.Time
	a, b     uint64
}

// poolRow is what the records of a batch state about one pool: first is the first position at which
// the pool was seen. created is the position of its creation; never if the batch does not have it.
// last has its latest reserves. A key is zero if no record names it.
type poolRow struct {
	venue                string
	program              pubkey.Key
	vaultA, vaultB       pubkey.Key
	decimalsA, decimalsB *uint8
	first                schemas.Position
	firstTime            time.Time
	created              schemas.Position
	createdTime          time.Time
	signature            []byte // of the creation
	creator              pubkey.Key
	lpMint               pubkey.Key
	last                 reserves
}

// never is after every position.
var never = schemas.EndOfSlot(1<<64 - 1)

func (b *Batch) pool(key poolKey) *poolRow {
	row := b.pools[key]
	if row == nil {
		row = &poolRow{first: never, created: never}
		b.pools[key] = row
	}
	return row
}

// noteSeen notes that the pool was seen at a position. Of two texts the greater holds, as in the
// table.
func (r *poolRow) noteSeen(position schemas.Position, at time.Time, venue string, program pubkey.Key) {
	r.venue, r.program = max(r.venue, venue), greater(r.program, program)
	if position.Compare(r.first) < 0 {
		r.first, r.firstTime = position, at
	}
}

func (r *poolRow) describe(vaultA, vaultB pubkey.Key, decimalsA, decimalsB *uint32) {
	r.vaultA, r.vaultB = greater(r.vaultA, vaultA), greater(r.vaultB, vaultB)
	r.decimalsA, r.decimalsB = higher(r.decimalsA, decimalsA), higher(r.decimalsB, decimalsB)
}

// greater returns the key whose text sorts behind the other's, as the table's max does. The zero
// key is before all others.
func greater(a, b pubkey.Key) pubkey.Key {
	if pubkey.Compare(a, b) < 0 {
		return b
	}
	return a
}

// higher returns the greater of two optional decimals, as the table's max does. It ignores a value
// above 255.
func higher(known *uint8, stated *uint32) *uint8 {
	if stated == nil || *stated > 255 || known != nil && uint32(*known) >= *stated {
		return known
	}
	decimals := uint8(*stated)
	return &decimals
}

// addPoolOfLeg adds what a leg shows of its pool. Reserves count only if the leg has both.
func (b *Batch) addPoolOfLeg(leg *eventspb.SwapLeg) {
	position := schemas.PositionOf(leg.GetPosition(), leg.GetSignature())
	at := delivery.BlockTime(leg.GetBlockTime())
	key := poolKey{keyIn(leg.GetPool()), keyIn(leg.GetMintIn()), keyIn(leg.GetMintOut())}
	vaultA, vaultB := keyIn(leg.GetVaultIn()), keyIn(leg.GetVaultOut())
	decimalsA, decimalsB := leg.DecimalsIn, leg.DecimalsOut
	reserveA, reserveB := leg.GetReserveIn(), leg.GetReserveOut()
	if pubkey.Compare(key.mintA, key.mintB) > 0 {
		key.mintA, key.mintB = key.mintB, key.mintA
		vaultA, vaultB = vaultB, vaultA
		decimalsA, decimalsB = decimalsB, decimalsA
		reserveA, reserveB = reserveB, reserveA
	}
	row := b.pool(key)
	row.noteSeen(position, at, leg.GetVenue(), keyIn(leg.GetProgramId()))
	row.describe(vaultA, vaultB, decimalsA, decimalsB)
	if leg.ReserveIn == nil || leg.ReserveOut == nil {
		return
	}
	last := reserves{position, at, reserveA, reserveB}
	if position.Compare(row.last.position) > 0 {
		row.last = last
	}
	if at.Unix() == 0 {
		return
	}
	minute := poolMinute{at.Truncate(time.Minute), key}
	if position.Compare(b.reserves[minute].position) > 0 {
		b.reserves[minute] = last
	}
}

// poolPartition returns the number in swap_minutes_raw of a partition of chain.pools.v1. It is
// below the partitions of chain.swaps.v1 and below -1, which a rebuild uses.
func poolPartition(partition int) int { return -2 - partition }

// addPool adds what a pool's record states, and the minute in which a pool was created.
func (b *Batch) addPool(record *kafka.Record) error {
	pool := new(eventspb.Pool)
	if err := proto.Unmarshal(record.Value, pool); err != nil {
		return fmt.Errorf("decode pool: %w", err)
	}
	if pool.GetPosition() == nil {
		return errors.New("pool: no position")
	}
	if err := checkKeys("pool", pool.GetPool()); err != nil {
		return err
	}
	position, at := schemas.PositionOf(pool.GetPosition(), pool.GetSignature()), delivery.BlockTime(pool.GetBlockTime())
	key := poolKey{keyIn(pool.GetPool()), keyIn(pool.GetMintA()), keyIn(pool.GetMintB())}
	vaultA, vaultB, decimalsA, decimalsB := keyIn(pool.GetVaultA()), keyIn(pool.GetVaultB()), pool.DecimalsA, pool.DecimalsB
	// The event sorts mints by their bytes, the table by their text.
	if pubkey.Compare(key.mintA, key.mintB) > 0 {
		key.mintA, key.mintB = key.mintB, key.mintA
		vaultA, vaultB, decimalsA, decimalsB = vaultB, vaultA, decimalsB, decimalsA
	}
	row := b.pool(key)
	row.noteSeen(position, at, pool.GetVenue(), keyIn(pool.GetProgramId()))
	row.describe(vaultA, vaultB, decimalsA, decimalsB)
	row.lpMint = greater(row.lpMint, keyIn(pool.GetLpMint()))
	if pool.GetCreated() && position.Compare(row.created) < 0 {
		row.created, row.createdTime = position, at
		row.signature, row.creator = pool.GetSignature(), keyIn(pool.GetCreator())
	}
	// A valuation also finds when the first pool of a mint was created, so it must run for this
	// minute, although no leg comes with the record.
	if pool.GetCreated() && at.Unix() != 0 {
		minute := touchedMinute{at.Truncate(time.Minute), poolPartition(record.Partition)}
		b.touched[minute] = max(b.touched[minute], record.Offset+1)
	}
	return nil
}
