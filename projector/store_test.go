package projector_test

import (
	"context"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// migrated returns a connection, and a store on freshly migrated tables.
func migrated(t *testing.T) (driver.Conn, *projector.ClickHouse) {
	t.Helper()
	conn, _ := chtest.Migrated(t)
	store := projector.NewClickHouse(conn, schema.Database)
	require.NoError(t, store.Check(t.Context()))
	return conn, store
}

func truncate(t require.TestingT, conn driver.Conn) {
	for _, table := range []string{"token_events_raw", "created_mints_raw", "token_facts_raw", "token_fact_history_raw", "tokens_raw", "slots_raw"} {
		require.NoError(t, conn.Exec(context.Background(), "TRUNCATE TABLE mintlake."+table))
	}
}

// batchOf is what one batch of records with these messages says.
func batchOf(messages []registrytest.Message) *projector.Batch {
	batch := &projector.Batch{}
	for _, message := range messages {
		if message.Event != nil {
			batch.AddEvent(message.Event)
		} else {
			batch.AddEnrichment(message.Enrichment)
		}
	}
	return batch
}

// TestClickHouseFoldsLikeGo feeds the same messages, shuffled, repeated and cut into batches, to
// both folds; batches are folded as they come, or put off and folded by their names or all in
// ranges.
func TestClickHouseFoldsLikeGo(t *testing.T) {
	conn, store := migrated(t)
	store.FoldInRangesOf(40)
	rapidseed.Few(t, 20)
	rapid.Check(t, func(t *rapid.T) {
		truncate(t, conn)
		messages := registrytest.WithRetractions(30).Draw(t, "messages")
		want := registrytest.Believed(registrytest.FactsOf(messages))

		delivered := append(slices.Clone(messages), messages[:rapid.IntRange(0, len(messages)).Draw(t, "repeated")]...)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "shuffle"), 2))
		random.Shuffle(len(delivered), func(i, j int) { delivered[i], delivered[j] = delivered[j], delivered[i] })
		cut := rapid.IntRange(0, len(delivered)).Draw(t, "cut")
		var late []pubkey.Key
		for _, part := range [][]registrytest.Message{delivered[:cut], delivered[cut:]} {
			batch := batchOf(part)
			if rapid.Bool().Draw(t, "put off") {
				require.NoError(t, store.Insert(context.Background(), batch))
				late = append(late, batch.Mints()...)
				continue
			}
			require.NoError(t, store.Write(context.Background(), batch))
		}
		dirty := projector.Dirty{Mints: late}
		if rapid.Bool().Draw(t, "all") {
			dirty = projector.Dirty{All: true}
		}
		require.NoError(t, store.Fold(context.Background(), dirty))

		require.Equal(t, facts(want), storedFacts(t, conn))
		require.Equal(t, tokens(want), storedTokens(t, conn))
		require.Equal(t, history(messages), storedHistory(t, conn))
	})
}

func fold(messages []registrytest.Message) map[pubkey.Key]*registry.State {
	states := map[pubkey.Key]*registry.State{}
	for _, message := range messages {
		for _, fact := range message.Facts() {
			if states[fact.Mint] == nil {
				states[fact.Mint] = new(registry.State)
			}
			states[fact.Mint].Apply(fact)
		}
	}
	return states
}

func facts(states map[pubkey.Key]*registry.State) []registry.Fact {
	var list []registry.Fact
	for _, mint := range slices.SortedFunc(maps.Keys(states), pubkey.Compare) {
		list = append(list, states[mint].Facts()...)
	}
	return list
}

// positionOf is the inverse of Position.BigInt.
func positionOf(n *big.Int) schemas.Position {
	order := new(big.Int).SetUint64(math.MaxUint64)
	return schemas.Position{Slot: new(big.Int).Rsh(n, 64).Uint64(), Order: order.And(order, n).Uint64()}
}

// storedFacts reads the facts as the API loads them.
func storedFacts(t require.TestingT, conn driver.Conn) []registry.Fact {
	rows, err := conn.Query(context.Background(), "SELECT mint, facts FROM mintlake.tokens_raw FINAL ORDER BY mint")
	require.NoError(t, err)
	defer rows.Close()
	var list []registry.Fact
	for rows.Next() {
		var mint string
		var stored []struct {
			Register uint8   `ch:"register"`
			Item     string  `ch:"item"`
			Position big.Int `ch:"position"`
			Value    string  `ch:"value"`
		}
		require.NoError(t, rows.Scan(&mint, &stored))
		for _, fact := range stored {
			list = append(list, registry.Fact{
				Mint: pubkey.MustParse(mint), Register: registry.Register(fact.Register), Item: fact.Item,
				Position: positionOf(&fact.Position), Value: fact.Value,
			})
		}
	}
	require.NoError(t, rows.Err())
	return list
}

func tokens(states map[pubkey.Key]*registry.State) []registry.Token {
	var list []registry.Token
	for _, mint := range slices.SortedFunc(maps.Keys(states), pubkey.Compare) {
		if token, member := states[mint].Token(mint); member {
			list = append(list, token)
		}
	}
	return list
}

// storedTokens reads the view that analysts read. A multiplier may come in 2299; the driver's times
// end in 2262.
func storedTokens(t require.TestingT, conn driver.Conn) []registry.Token {
	rows, err := conn.Query(context.Background(), "SELECT * REPLACE (toUnixTimestamp64Milli(next_ui_multiplier_at) AS next_ui_multiplier_at) FROM mintlake.tokens ORDER BY mint")
	require.NoError(t, err)
	defer rows.Close()
	var list []registry.Token
	for rows.Next() {
		var mint string
		var token registry.Token
		var firstSeen, lastSeen, graduated *time.Time
		var supply *uint64
		var fee *uint16
		var standard *uint8
		require.NoError(t, rows.Scan(&mint, &token.Symbol, &token.Name, &token.Decimals, &token.LogoURL, &token.LogoStatus,
			&token.IsToken22, &token.DailyVolumeUSD, &firstSeen, &lastSeen, &supply, &token.MintAuthority, &token.FreezeAuthority,
			&token.MetaplexURI, &token.UpdateAuthority, &fee, &standard, &token.Description, &token.ExternalURL,
			&token.Extensions, &token.Tags, &token.Launchpad, &token.Creator, &graduated,
			&token.UIMultiplier, &token.NextUIMultiplier, &token.NextUIMultiplierAt))
		token.Mint = pubkey.MustParse(mint)
		token.FirstSeenAt, token.LastSeenAt, token.GraduatedAt = millis(firstSeen), millis(lastSeen), millis(graduated)
		if supply != nil {
			text := strconv.FormatUint(*supply, 10)
			token.Supply = &text
		}
		if fee != nil {
			n := int64(*fee)
			token.SellerFeeBasisPoints = &n
		}
		if standard != nil {
			n := int64(*standard)
			token.TokenStandard = &n
		}
		if len(token.Extensions) == 0 {
			token.Extensions = nil
		}
		if len(token.Tags) == 0 {
			token.Tags = nil
		}
		list = append(list, token)
	}
	require.NoError(t, rows.Err())
	return list
}

func millis(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

// TestMembersAndURIsAreThoseOfTheFold, for what random messages make rarely: edition accounts at
// every bump that counts and beside them, texts that are nearly URIs.
func TestMembersAndURIsAreThoseOfTheFold(t *testing.T) {
	conn, store := migrated(t)
	truncate(t, conn)
	var messages []registrytest.Message
	add := func(e *eventspb.Enrichment) { messages = append(messages, registrytest.Message{Enrichment: e}) }
	for n := range 160 {
		mint := make([]byte, 32)
		mint[0], mint[1] = 9, byte(n)
		account := &eventspb.MintAccount{
			ProgramId: registrytest.Mint(0), Supply: uint64(n % 3), MintAuthority: registrytest.Edition(mint, byte(255-n%40)), Decimals: uint32(n / 120),
		}
		add(&eventspb.Enrichment{Mint: mint, Slot: 1, Fact: &eventspb.Enrichment_MintAccount{MintAccount: account}})
	}
	for n, uri := range []string{
		"https://x/a", "http://[::1]:8/a", "http://[::1/a", "not a uri", "x", "a:", "1a:b", "https://x/%41", "https://x/%4", "https://x/'\"\\", "https://x/'()", "https://x/#a", "https://x/##",
		"https://x/\u00e9", "https://x/a\nb", "https://x/a\tb", "ipfs://Qm", "data:image/png;base64,AA==", "data:image/svg+xml,<svg/>", "https://x/[a]", "HTTP://X", "a+b.c-d:e",
	} {
		mint := make([]byte, 32)
		mint[0], mint[1] = 10, byte(n)
		add(&eventspb.Enrichment{Mint: mint, Slot: 1, Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{
			ProgramId: registrytest.Mint(0), Decimals: 6, MetadataPointer: mint,
		}}})
		add(&eventspb.Enrichment{Mint: mint, Slot: 1, Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: &eventspb.MetaplexAccount{Metadata: &eventspb.MetadataSet{
			MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Uri: []byte(uri),
		}}}})
		add(&eventspb.Enrichment{Mint: mint, Slot: 1, Fact: &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{
			Uri: []byte(registry.Text([]byte(uri))), Name: "n", Image: uri, ExternalUrl: uri,
		}}})
	}
	require.NoError(t, store.Write(t.Context(), batchOf(messages)))
	want := tokens(fold(messages))
	require.Less(t, len(want), len(messages)-100)
	require.Equal(t, want, storedTokens(t, conn))
}

// TestRowsOfEarlierRulesAreMadeOfTheOldFacts: a row that an earlier version made of the same facts
// showed the creator's tag as if a list had given it.
func TestRowsOfEarlierRulesAreMadeOfTheOldFacts(t *testing.T) {
	conn, store := migrated(t)
	outdated, err := store.Outdated(t.Context())
	require.NoError(t, err)
	require.False(t, outdated, "there is nothing")
	mint := registrytest.Mint(1)
	require.NoError(t, store.Write(t.Context(), batchOf([]registrytest.Message{
		{Enrichment: &eventspb.Enrichment{Mint: mint, Slot: 1, Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{ProgramId: registrytest.Mint(0), Decimals: 6}}}},
		{Enrichment: &eventspb.Enrichment{Mint: mint, Slot: 1, Fact: &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{Tags: []string{"Verified", "verified", "meme"}}}}},
	})))
	row := func() (tags []string, outdated bool) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT tags FROM mintlake.tokens").Scan(&tags))
		outdated, err := store.Outdated(t.Context())
		require.NoError(t, err)
		return tags, outdated
	}
	tags, outdated := row()
	require.Equal(t, []string{"meme"}, tags)
	require.False(t, outdated)
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO mintlake.tokens_raw SELECT * REPLACE (['Verified', 'verified', 'meme'] AS tags, 0 AS rules) FROM mintlake.tokens_raw"))
	tags, outdated = row()
	require.Equal(t, []string{"Verified", "verified", "meme"}, tags)
	require.True(t, outdated)
	require.NoError(t, store.Fold(t.Context(), projector.Dirty{All: true}))
	tags, outdated = row()
	require.Equal(t, []string{"meme"}, tags)
	require.False(t, outdated)
}

func TestSlotsKeepTheHighestStatus(t *testing.T) {
	conn, store := migrated(t)
	parent := uint64(4)
	slot := func(status eventspb.SlotStatus) *eventspb.SlotRecord {
		return &eventspb.SlotRecord{Slot: 5, ParentSlot: &parent, Blockhash: registrytest.Mint(2), Status: status, Source: "file"}
	}
	dead, ingested := slot(eventspb.SlotStatus_SLOT_STATUS_DEAD), slot(eventspb.SlotStatus_SLOT_STATUS_INGESTED)
	for _, order := range [][]*eventspb.SlotRecord{{dead, ingested}, {ingested, dead}} {
		truncate(t, conn)
		for _, s := range order {
			require.NoError(t, store.Write(t.Context(), &projector.Batch{Slots: []*eventspb.SlotRecord{s}}))
		}
		var count uint64
		var status string
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(), any(status) FROM mintlake.slots").Scan(&count, &status))
		require.Equal(t, uint64(1), count)
		require.Equal(t, "dead", status)
	}
}

func TestCheckNamesWhatIsMissing(t *testing.T) {
	conn, store := migrated(t)
	require.NoError(t, conn.Exec(t.Context(), "ALTER TABLE mintlake.slots_raw DROP COLUMN source"))
	require.ErrorContains(t, store.Check(t.Context()), "source")
}
