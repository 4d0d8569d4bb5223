package volume_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// created is the record of a pool's creation.
func created(t require.TestingT, pool, mintA, mintB string, at time.Time, offset int64) kafka.Record {
	value, err := proto.Marshal(&eventspb.Pool{
		Position: &eventspb.Position{Slot: 100_000_000 + uint64(at.Unix()-noon.Unix()+1e6), TransactionIndex: proto.Uint32(0)}, BlockTime: at.Unix(), Signature: make([]byte, 64),
		ProgramId: key("program"), Venue: "raydium_cpmm", Pool: key(pool), MintA: key(mintA), MintB: key(mintB), Created: true, Creator: key("creator"),
	})
	require.NoError(t, err)
	return kafka.Record{Topic: schemas.TopicPools, Partition: 1, Offset: offset, Key: []byte(pool), Value: value}
}

// TestACreationAloneIsValued: the record of a pool's creation may be stored after the last leg was
// valued, and no further leg comes.
func TestACreationAloneIsValued(t *testing.T) {
	s := migrated(t)
	s.insert(t, leg{at: noon, pool: "cat-sol", in: sol, out: "cat", paid: 1e9, got: whole, reserveIn: 7e9, reserveOut: 1, trader: "ann"}.record(t))
	s.value(t)
	query := "SELECT pools, first_pool_at, liquidity_usd FROM mintlake.daily_volumes WHERE mint = '" + address("cat") + "'"
	require.Equal(t, []string{`1	\N	\N`}, s.rows(t, query), "SOL has no price here")
	s.insert(t, created(t, "cat-sol", sol, "cat", noon.Add(-time.Hour), 0))
	s.value(t)
	require.Equal(t, []string{`1	2026-11-20 11:00:00	\N`}, s.rows(t, query))
	require.Empty(t, s.rows(t, "SELECT * FROM mintlake.waiting_minutes"))
}
