package history_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/api/history"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/internal/testkit/rapidseed"
	// the rooms meet in ClickHouse; only here one test looks at both sides
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// database is the real engine with both sides of the table.
type database struct {
	conn   driver.Conn
	store  *projector.ClickHouse
	reader *history.ClickHouse
}

func start(t testing.TB) *database {
	t.Helper()
	conn, dsn := chtest.Start(t)
	name, err := clickhouse.Database(dsn)
	require.NoError(t, err)
	chtest.Migrate(t, conn, name)
	reader := history.NewClickHouse(func(ctx context.Context) (driver.Conn, error) { return clickhouse.Open(ctx, dsn) }, name)
	t.Cleanup(func() { require.NoError(t, reader.Close()) })
	return &database{conn: conn, store: projector.NewClickHouse(conn, name), reader: reader}
}

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

// tokenAt is a fresh fold of what the messages up to a slot state about a mint.
func tokenAt(messages []registrytest.Message, mint pubkey.Key, slot uint64) (registry.Token, bool) {
	var facts []registry.Fact
	for _, fact := range registrytest.FactsOf(messages) {
		if fact.Mint == mint && root.SlotOf(&fact) <= slot {
			facts = append(facts, fact)
		}
	}
	state, known := registrytest.Believed(facts)[mint]
	if !known {
		return registry.Token{}, false
	}
	return state.Token(mint)
}

// fields of a token as JSON has them, without the mint and without what is null.
func fields(t require.TestingT, token registry.Token) map[string]any {
	encoded, err := json.Marshal(token)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(encoded, &all))
	delete(all, "mint")
	for name, value := range all {
		if value == nil {
			delete(all, name)
		}
	}
	return all
}

// TestHistoryIsTheFold: for generated messages, shuffled and repeated, the pages of any size hold
// each entry once, newest first; their changes follow on each other and add up to the fold of
// everything up to each slot; as_of_slot is that fold too.
func TestHistoryIsTheFold(t *testing.T) {
	db := start(t)
	rapidseed.Few(t, 25)
	rapid.Check(t, func(t *rapid.T) {
		// what may stay behind would not be asked for
		for _, table := range []string{"token_fact_history_raw", "token_facts_raw"} {
			require.NoError(t, db.conn.Exec(context.Background(), "TRUNCATE TABLE "+table))
		}
		messages := withCopies(t, registrytest.WithRetractions(30).Draw(t, "messages"))
		delivered := append(slices.Clone(messages), messages[:rapid.IntRange(0, len(messages)).Draw(t, "repeated")]...)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "shuffle"), 2))
		random.Shuffle(len(delivered), func(i, j int) { delivered[i], delivered[j] = delivered[j], delivered[i] })
		cut := rapid.IntRange(0, len(delivered)).Draw(t, "cut")
		for _, part := range [][]registrytest.Message{delivered[:cut], delivered[cut:]} {
			require.NoError(t, db.store.Write(context.Background(), batchOf(part)))
		}
		mint := pubkey.Key(registrytest.Mint(rapid.IntRange(0, 3).Draw(t, "asked")))
		checkPages(t, history.New(db.reader), messages, mint, rapid.IntRange(1, 4).Draw(t, "limit"))
		for range 2 {
			checkAsOf(t, history.New(db.reader), messages, mint, rapid.Uint64Range(0, 6).Draw(t, "slot"))
		}
	})
}

// withCopies delivers some instructions a second time without their place in the block.
func withCopies(t *rapid.T, messages []registrytest.Message) []registrytest.Message {
	for _, message := range messages {
		if message.Event == nil || rapid.IntRange(0, 3).Draw(t, "copied") > 0 {
			continue
		}
		event := proto.CloneOf(message.Event)
		event.Position.TransactionIndex = nil
		messages = append(messages, registrytest.Message{Event: event})
	}
	return messages
}

// statements counts what the messages state about a mint, copies of one statement once.
func statements(messages []registrytest.Message, mint pubkey.Key) int {
	type identity struct {
		slot, place     uint64
		signature, kind string
	}
	distinct := map[identity]bool{}
	for _, s := range batchOf(messages).Statements {
		if s.Mint == mint {
			distinct[identity{s.Position.Slot, s.Place, s.Signature, s.Kind}] = true
		}
	}
	return len(distinct)
}

func checkPages(t *rapid.T, h *history.History, messages []registrytest.Message, mint pubkey.Key, limit int) {
	var entries []history.Entry
	var cursor history.Cursor
	for {
		page, err := h.Page(context.Background(), mint, cursor, limit)
		if err != nil {
			require.ErrorIs(t, err, history.ErrUnknownMint)
			require.Empty(t, batchOf(slices.DeleteFunc(slices.Clone(messages), func(m registrytest.Message) bool {
				b := batchOf([]registrytest.Message{m})
				return len(b.Statements) == 0 || b.Statements[0].Mint != mint
			})).Statements)
			return
		}
		require.LessOrEqual(t, len(page.Items), limit)
		entries = append(entries, page.Items...)
		if page.Next == nil {
			break
		}
		require.Len(t, page.Items, limit)
		cursor, err = history.ParseCursor(*page.Next)
		require.NoError(t, err)
	}
	require.Len(t, entries, statements(messages, mint), "each statement once")
	checkPlaces(t, entries, messages, mint)
	slices.Reverse(entries)
	view := map[string]any{"symbol": "", "name": "", "logo_status": "missing"}
	seen := map[string]bool{}
	for i, entry := range entries {
		// a sighting does not show its place
		if entry.Signature != nil && entry.InstructionIndex != nil {
			identity, err := json.Marshal([]any{entry.Signature, entry.Kind, entry.InstructionIndex, entry.InnerInstructionIndex})
			require.NoError(t, err)
			require.False(t, seen[string(identity)], "listed twice: %s", identity)
			seen[string(identity)] = true
		}
		for _, change := range entry.Changes {
			encoded, err := json.Marshal(change)
			require.NoError(t, err)
			var plain struct {
				Field         string
				Before, After any
			}
			require.NoError(t, json.Unmarshal(encoded, &plain))
			require.NotEqual(t, plain.Before, plain.After)
			require.Equal(t, plain.Before, view[plain.Field], "%s at slot %d", plain.Field, entry.Slot)
			view[plain.Field] = plain.After
			if plain.After == nil {
				delete(view, plain.Field)
			}
		}
		if i+1 < len(entries) && entries[i+1].Slot == entry.Slot {
			continue
		}
		token, member := tokenAt(messages, mint, entry.Slot)
		require.Equal(t, member, entry.InRegistry, "slot %d", entry.Slot)
		want := fields(t, token)
		for _, name := range []string{"decimals", "is_token22"} {
			if _, known := view[name]; !known {
				delete(want, name)
			}
		}
		require.Equal(t, want, view, "slot %d", entry.Slot)
	}
}

// where is an instruction's place as answers and tables have it, -1 for none.
type where struct {
	slot                uint64
	outer, inner, batch int64
}

// checkPlaces: the entries of instructions stand where the messages say.
func checkPlaces(t *rapid.T, entries []history.Entry, messages []registrytest.Message, mint pubkey.Key) {
	want := map[where]bool{}
	for _, message := range messages {
		if event := message.Event; event != nil && pubkey.Key(event.GetMint()) == mint {
			want[whereOf(event.GetPosition())] = true
		}
	}
	for _, entry := range entries {
		if entry.Source != projector.SourceInstruction {
			require.Nil(t, entry.InstructionIndex)
			continue
		}
		require.NotNil(t, entry.InstructionIndex)
		got := where{entry.Slot, *entry.InstructionIndex, -1, -1}
		if entry.InnerInstructionIndex != nil {
			got.inner = *entry.InnerInstructionIndex
		}
		if entry.BatchIndex != nil {
			got.batch = *entry.BatchIndex
		}
		require.Contains(t, want, got)
	}
}

func whereOf(p *eventspb.Position) where {
	w := where{p.GetSlot(), int64(p.GetInstructionIndex()), -1, -1}
	if p.InnerInstructionIndex != nil {
		w.inner = int64(p.GetInnerInstructionIndex())
	}
	if p.BatchIndex != nil {
		w.batch = int64(p.GetBatchIndex())
	}
	return w
}

// TestTheViewSaysThePlaceToo: the indices of token_fact_history, which SQL unpacks, are those of
// schemas.PackPlace.
func TestTheViewSaysThePlaceToo(t *testing.T) {
	db := start(t)
	rapidseed.Few(t, 25)
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, db.conn.Exec(context.Background(), "TRUNCATE TABLE token_fact_history_raw"))
		position := &eventspb.Position{Slot: rapid.Uint64Range(0, 1<<40).Draw(t, "slot"), InstructionIndex: rapid.Uint32Range(0, 4095).Draw(t, "outer")}
		for label, index := range map[string]**uint32{"transaction": &position.TransactionIndex, "inner": &position.InnerInstructionIndex, "batch": &position.BatchIndex} {
			if rapid.Bool().Draw(t, "has "+label) {
				*index = new(rapid.Uint32Range(0, 1<<14-2).Draw(t, label))
			}
		}
		batch := &projector.Batch{}
		batch.AddEvent(&eventspb.TokenEvent{
			Mint: registrytest.Mint(1), Position: position, Signature: make([]byte, 64), ProgramId: registrytest.Mint(2),
			Payload: &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 1}},
		})
		require.NoError(t, db.store.Write(context.Background(), batch))
		var slot uint64
		var outer, inner, batchIndex int32
		require.NoError(t, db.conn.QueryRow(context.Background(), "SELECT slot, instruction_index, inner_instruction_index, batch_index FROM token_fact_history LIMIT 1").
			Scan(&slot, &outer, &inner, &batchIndex))
		require.Equal(t, whereOf(position), where{slot, int64(outer), int64(inner), int64(batchIndex)})
	})
}

func checkAsOf(t *rapid.T, h *history.History, messages []registrytest.Message, mint pubkey.Key, slot uint64) {
	want, wantMember := tokenAt(messages, mint, slot)
	snapshot, err := h.AsOf(context.Background(), mint, slot)
	if err != nil {
		require.ErrorIs(t, err, history.ErrUnknownMint)
		require.False(t, wantMember)
		return
	}
	token, member := snapshot.Token()
	require.Equal(t, wantMember, member)
	require.Equal(t, want, token)
	checkProvenance(t, snapshot, token)
}

// checkProvenance: every field that says something has an origin, and no other.
func checkProvenance(t *rapid.T, snapshot *history.Snapshot, token registry.Token) {
	origins := snapshot.Provenance()
	shown := fields(t, token)
	for name, value := range shown {
		if value == "" || value == "missing" {
			delete(shown, name)
		}
	}
	for name := range origins {
		if _, ok := shown[name]; !ok {
			require.Fail(t, "origin of nothing", name)
		}
	}
	for name := range shown {
		if _, ok := origins[name]; !ok && name != "decimals" && name != "is_token22" {
			require.Fail(t, "no origin", "%s: %v", name, shown[name])
		}
	}
}

// TestAFieldThatIsNotShownHasNoOrigin: a key with a control character shows nowhere, so no fact is
// named as what stated the extensions.
func TestAFieldThatIsNotShownHasNoOrigin(t *testing.T) {
	db := start(t)
	mint := registrytest.Mint(0)
	program := pubkey.MustParse(schemas.ProgramToken2022)
	account := &eventspb.MintAccount{
		ProgramId: program[:], Decimals: 6, MetadataPointer: mint,
		TokenMetadata: &eventspb.MetadataSet{
			MetadataProgram:  eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022,
			AdditionalFields: []*eventspb.AdditionalField{{Key: []byte("web\x07site"), Value: []byte("https://example.org")}},
		},
		Extensions: []*eventspb.ExtensionSet{{Extension: registry.ExtensionMetadataPointer, Attributes: []*eventspb.Attribute{{Name: registry.AttributeMetadataAddress, Value: pubkey.Key(mint).String()}}}},
	}
	read := registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: mint, Slot: 5, Fact: &eventspb.Enrichment_MintAccount{MintAccount: account}}}
	for _, key := range []string{"web\x07site", "website"} {
		account.TokenMetadata.AdditionalFields[0].Key = []byte(key)
		require.NoError(t, db.conn.Exec(t.Context(), "TRUNCATE TABLE token_fact_history_raw"))
		require.NoError(t, db.store.Write(t.Context(), batchOf([]registrytest.Message{read})))
		snapshot, err := history.New(db.reader).AsOf(t.Context(), pubkey.Key(mint), 9)
		require.NoError(t, err)
		token, _ := snapshot.Token()
		require.Equal(t, key == "website", token.Extensions != nil)
		_, has := snapshot.Provenance()["extensions"]
		require.Equal(t, key == "website", has, "%q", key)
	}
}

// TestUnavailable: an engine that is away, or slower than a question may take, is told apart from a
// mistake.
func TestUnavailable(t *testing.T) {
	db := start(t)
	away := history.New(history.NewClickHouse(func(ctx context.Context) (driver.Conn, error) {
		return clickhouse.Open(ctx, "http://127.0.0.1:1/mintlake")
	}, "mintlake"))
	_, err := away.Page(t.Context(), pubkey.Key{1}, history.Cursor{}, 1)
	require.ErrorIs(t, err, history.ErrUnavailable)
	ended, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err = history.New(db.reader).AsOf(ended, pubkey.Key{1}, 1)
	require.ErrorIs(t, err, history.ErrUnavailable)
	require.NoError(t, db.conn.Exec(t.Context(), "DROP TABLE token_fact_history_raw"))
	_, err = history.New(db.reader).Page(t.Context(), pubkey.Key{1}, history.Cursor{}, 1)
	require.Error(t, err)
	require.NotErrorIs(t, err, history.ErrUnavailable, "a table that is missing does not come by waiting")
}

// TestASupplyDeltaOfALeftForkCountsOnce: the same transaction in two slots, as when a fork was
// left; the later holds, in the page of either.
func TestASupplyDeltaOfALeftForkCountsOnce(t *testing.T) {
	db := start(t)
	index := uint32(1)
	event := func(slot uint64, payload func(*eventspb.TokenEvent)) registrytest.Message {
		e := &eventspb.TokenEvent{
			Position: &eventspb.Position{Slot: slot, TransactionIndex: &index}, Signature: slices.Repeat([]byte{7}, 64),
			ProgramId: registrytest.Mint(3), Mint: registrytest.Mint(1),
		}
		payload(e)
		return registrytest.Message{Event: e}
	}
	created := event(1, func(e *eventspb.TokenEvent) {
		e.Signature = slices.Repeat([]byte{8}, 64)
		e.Payload = &eventspb.TokenEvent_InitializeMint{InitializeMint: &eventspb.InitializeMint{Decimals: 6}}
	})
	minted := func(slot uint64) registrytest.Message {
		return event(slot, func(e *eventspb.TokenEvent) {
			e.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 50}}
		})
	}
	messages := []registrytest.Message{created, minted(5)}
	for slot := uint64(10); slot < 30; slot++ { // so that the two are in windows of their own
		messages = append(messages, event(slot, func(e *eventspb.TokenEvent) {
			e.Signature = slices.Repeat([]byte{byte(slot)}, 64)
			e.Payload = &eventspb.TokenEvent_FreezeAccount{FreezeAccount: &eventspb.AccountFreeze{}}
		}))
	}
	messages = append(messages, minted(40))
	require.NoError(t, db.store.Write(t.Context(), batchOf(messages)))
	mint := pubkey.Key(registrytest.Mint(1))
	page, err := history.New(db.reader).Page(t.Context(), mint, history.Cursor{}, 1)
	require.NoError(t, err)
	require.Empty(t, page.Items[0].Changes, "it had been counted")
	snapshot, err := history.New(db.reader).AsOf(t.Context(), mint, 50)
	require.NoError(t, err)
	token, _ := snapshot.Token()
	require.Equal(t, "50", *token.Supply)
}
