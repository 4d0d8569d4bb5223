package decode_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Forms that today's client and program have no more, or that come from no well-meaning client.

func borshText(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// metaplexData is the program's Data: name, symbol, uri, seller fee, creators.
func metaplexData(name, symbol, uri string, creators ...string) []byte {
	data := joined(borshText(name), borshText(symbol), borshText(uri), []byte{7, 0})
	if len(creators) == 0 {
		return append(data, 0)
	}
	data = binary.LittleEndian.AppendUint32(append(data, 1), uint32(len(creators)))
	for _, creator := range creators {
		k := named(creator)
		data = append(append(data, k[:]...), 1, 50)
	}
	return data
}

func decodeMetaplex(t *testing.T, data []byte, accounts ...string) *eventspb.TokenEvent {
	t.Helper()
	events := decode.New(nil).Decode(invoke(t, schemas.ProgramMetaplex, data, accounts...), 1, 0)
	require.Len(t, events, 1)
	return events[0]
}

func TestMetaplexOldForms(t *testing.T) {
	mint, metadata, collection := named("mint"), named("metadata"), named("collection")
	create := []string{"metadata", "mint", "mint authority", "payer", "update authority"}
	data := metaplexData("Name", "SYM", "uri", "one", "two")
	// a collection, not verified; no uses
	collected := append(append([]byte{1, 0}, collection[:]...), 0)
	for name, c := range map[string]struct {
		data     []byte
		accounts []string
		check    func(*eventspb.MetadataSet)
	}{
		"CreateMetadataAccount": {joined([]byte{0}, data, []byte{1}), create, func(set *eventspb.MetadataSet) {
			require.True(t, set.GetCreates())
			require.Nil(t, set.Collection, "V1 knows no collections")
			require.Len(t, set.GetCreators(), 2)
			require.True(t, set.GetIsMutable())
		}},
		"CreateMetadataAccountV2": {joined([]byte{16}, data, collected, []byte{0}), create, func(set *eventspb.MetadataSet) {
			require.Equal(t, collection[:], set.GetCollection())
			require.False(t, set.GetIsMutable())
			require.EqualValues(t, 7, set.GetSellerFeeBasisPoints())
		}},
		"Migrate": {[]byte{48}, []string{"metadata", "edition", "token", "owner", "mint"}, func(set *eventspb.MetadataSet) {
			require.EqualValues(t, 4, set.GetTokenStandard(), "programmable from now on")
		}},
		"Print": {[]byte{55, 1}, []string{"metadata", "edition", "mint"}, func(set *eventspb.MetadataSet) {
			require.True(t, set.GetCreates())
			require.Nil(t, set.TokenStandard, "it depends on the master")
		}},
		"MintNewEditionFromMasterEditionViaToken": {[]byte{11}, []string{"metadata", "edition", "master", "mint"}, func(set *eventspb.MetadataSet) {
			require.EqualValues(t, 3, set.GetTokenStandard())
		}},
	} {
		event := decodeMetaplex(t, c.data, c.accounts...)
		require.Equal(t, name, event.GetInstruction())
		require.Equal(t, mint[:], event.GetMint(), name)
		require.Equal(t, metadata[:], event.GetMetadataSet().GetMetadataAccount(), name)
		c.check(event.GetMetadataSet())
	}
	update := decodeMetaplex(t, joined([]byte{1, 1}, metaplexData("Next", "N", "u"), []byte{0, 1, 1}), "metadata", "authority").GetMetadataSet()
	require.Equal(t, "Next", string(update.GetName()))
	require.True(t, update.GetSetsCreators(), "to none")
	require.True(t, update.GetPrimarySaleHappened())
	require.Nil(t, update.IsMutable, "V1 knows no such flag")
	require.Nil(t, update.UpdateAuthority)
}

// TestMetaplexSeedAuthority: whoever the instruction names, the program makes the mint's authority
// the update authority then.
func TestMetaplexSeedAuthority(t *testing.T) {
	tx := invoke(t, schemas.ProgramMetaplex, joined([]byte{0}, metaplexData("N", "S", "u"), []byte{0}), "metadata", "mint", "seed", "payer", "update authority")
	seed, err := hex.DecodeString("92172cc4725dc041f9dd8c51526004260093a30b0273dcfa749217fc94a24049")
	require.NoError(t, err)
	tx.Keys[3] = pubkey.Key(seed)
	set := decode.New(nil).Decode(tx, 1, 0)[0].GetMetadataSet()
	require.Equal(t, "N", string(set.GetName()))
	require.Nil(t, set.UpdateAuthority)
	require.Nil(t, set.IsMutable)
}

// TestMetaplexTextsAreBytes: padding, bytes that are no UTF-8 and absurd lengths survive as they
// are.
func TestMetaplexTextsAreBytes(t *testing.T) {
	create := []string{"metadata", "mint", "mint authority", "payer", "update authority"}
	for _, text := range []string{
		"", "Name" + strings.Repeat("\x00", 28), "\xff\xfe\xc3(", "\x00\x00", strings.Repeat("n", 900), "\u202eevil", "a\nb",
	} {
		event := decodeMetaplex(t, joined([]byte{33}, metaplexData(text, text, text), []byte{0, 0, 1, 0}), create...)
		set := event.GetMetadataSet()
		require.NotNil(t, set, "%q: %s", text, event.GetRaw().GetReason())
		for _, got := range [][]byte{set.Name, set.Symbol, set.Uri} {
			require.Equal(t, text, string(got))
		}
	}
	for name, length := range map[string]uint32{"beyond the end": 5000, "the largest": 1<<32 - 1, "negative if signed": 1 << 31} {
		data := append([]byte{33}, binary.LittleEndian.AppendUint32(nil, length)...)
		event := decodeMetaplex(t, append(data, "short"...), create...)
		require.Equal(t, "data is too short", event.GetRaw().GetReason(), name)
	}
	many := joined([]byte{33}, borshText("a"), borshText("b"), borshText("c"), []byte{0, 0, 1, 255, 255, 255, 255})
	require.Equal(t, "field has an unknown value", decodeMetaplex(t, many, create...).GetRaw().GetReason(), "creators without end")
}

// TestCutInstructions: whatever end of an instruction is missing, it is decoded, ignored or kept,
// and never reads what is not there.
func TestCutInstructions(t *testing.T) {
	for _, v := range loadClients(t) {
		data, err := hex.DecodeString(v.Data)
		require.NoError(t, err)
		for length := range data {
			cut := v
			cut.Data = hex.EncodeToString(data[:length])
			seen := &recorder{}
			events := decode.New(seen).Decode(transaction(t, cut), 1, 0)
			require.Equal(t, 1, len(events)+len(seen.ignored), "%s cut to %d bytes", v.Name, length)
		}
		for accounts := range v.Accounts {
			cut := v
			cut.Accounts = v.Accounts[:accounts]
			seen := &recorder{}
			events := decode.New(seen).Decode(transaction(t, cut), 1, 0)
			require.Equal(t, 1, len(events)+len(seen.ignored), "%s with %d accounts", v.Name, accounts)
		}
	}
}

func TestVerifications(t *testing.T) {
	accounts := []string{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"}
	for _, c := range []struct {
		data                          []byte
		name, metadata, creator, verb string
	}{
		{[]byte{7}, "SignMetadata", "a0", "a1", "true"},
		{[]byte{28}, "RemoveCreatorVerification", "a0", "a1", "false"},
		{[]byte{52, 0}, "Verify", "a2", "a0", "true"},
		{[]byte{53, 0}, "Unverify", "a2", "a0", "false"},
	} {
		event := decodeMetaplex(t, c.data, accounts...)
		require.Equal(t, c.name, event.GetInstruction())
		set, metadata, creator := event.GetMetadataSet(), named(c.metadata), named(c.creator)
		require.Equal(t, metadata[:], set.GetMetadataAccount())
		require.False(t, set.GetSetsCreators())
		require.Len(t, set.GetCreators(), 1)
		require.Equal(t, creator[:], set.GetCreators()[0].GetAddress())
		require.Equal(t, c.verb == "true", set.GetCreators()[0].GetVerified())
	}
	for _, c := range []struct {
		data                       []byte
		name, metadata, collection string
	}{
		{[]byte{18}, "VerifyCollection", "a0", "a3"}, {[]byte{22}, "UnverifyCollection", "a0", "a2"},
		{[]byte{25}, "SetAndVerifyCollection", "a0", "a4"}, {[]byte{30}, "VerifySizedCollectionItem", "a0", "a3"},
		{[]byte{31}, "UnverifySizedCollectionItem", "a0", "a3"}, {[]byte{32}, "SetAndVerifySizedCollectionItem", "a0", "a4"},
		{[]byte{52, 1}, "Verify", "a2", "a3"}, {[]byte{53, 1}, "Unverify", "a2", "a3"},
	} {
		event := decodeMetaplex(t, c.data, accounts...)
		require.Equal(t, c.name, event.GetInstruction())
		metadata, collection := named(c.metadata), named(c.collection)
		require.True(t, bytes.Equal(metadata[:], event.GetMetadataSet().GetMetadataAccount()), c.name)
		require.True(t, bytes.Equal(collection[:], event.GetMetadataSet().GetCollection()), c.name)
	}
	require.Equal(t, "field has an unknown value", decodeMetaplex(t, []byte{52, 2}, accounts...).GetRaw().GetReason())
}
