package decode_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// foldedMetadata is what events alone say of one Metaplex metadata account, in the shape of a read
// of it.
type foldedMetadata struct{ eventspb.MetadataSet }

func (f *foldedMetadata) apply(set *eventspb.MetadataSet) {
	for _, text := range []struct{ to, from *[]byte }{{&f.Name, &set.Name}, {&f.Symbol, &set.Symbol}, {&f.Uri, &set.Uri}} {
		if *text.from != nil {
			*text.to = *text.from
		}
	}
	if set.UpdateAuthority != nil {
		f.UpdateAuthority = set.UpdateAuthority
	}
	if set.Collection != nil {
		f.Collection, f.CollectionVerified = set.Collection, set.CollectionVerified
	}
	if set.SellerFeeBasisPoints != nil {
		f.SellerFeeBasisPoints = set.SellerFeeBasisPoints
	}
	if set.TokenStandard != nil {
		f.TokenStandard = set.TokenStandard
	}
	if set.IsMutable != nil {
		f.IsMutable = set.IsMutable
	}
	if set.PrimarySaleHappened != nil {
		f.PrimarySaleHappened = set.PrimarySaleHappened
	}
	switch {
	case set.GetSetsCreators():
		f.Creators = slices.Clone(set.GetCreators())
	default: // flags of creators that are there
		for _, flag := range set.GetCreators() {
			for i, creator := range f.Creators {
				if bytes.Equal(creator.GetAddress(), flag.GetAddress()) {
					f.Creators[i] = &eventspb.Creator{Address: creator.GetAddress(), Verified: flag.GetVerified(), Share: creator.GetShare()}
				}
			}
		}
	}
}

// takenOver are accounts whose data the program copies from another account, which no instruction
// says; enrichment reads them.
var takenOver = []string{"MintNewEditionFromMasterEditionViaToken, print metadata"}

// TestSVMMetaplexFold: after every transaction, the events so far give the metadata account that
// the program left.
func TestSVMMetaplexFold(t *testing.T) {
	fixture := metaplexFixture(t)
	accounts := map[string]*foldedMetadata{}
	compared := 0
	for i := range fixture.Steps {
		step := &fixture.Steps[i]
		events, _ := step.decode(t)
		for _, event := range events {
			if set := event.GetMetadataSet(); set != nil {
				address := base58.Encode(set.GetMetadataAccount())
				if accounts[address] == nil {
					accounts[address] = &foldedMetadata{}
				}
				accounts[address].apply(set)
			}
		}
		for address, account := range step.Mints {
			if account == nil || account.Owner != schemas.ProgramMetaplex {
				continue
			}
			compared++
			where := step.Name + ", " + fixture.Names[address]
			read, err := tokenaccount.ParseMetaplex(account.Data)
			require.NoError(t, err, where)
			k := key(t, address)
			want, got := read.Fact(k).GetMetadata(), accounts[address]
			require.NotNil(t, got, where)
			if slices.Contains(takenOver, where) {
				require.Equal(t, want.TokenStandard, got.TokenStandard, where)
				continue
			}
			require.Equal(t, registry.Text(want.Name), registry.Text(got.Name), where)
			require.Equal(t, registry.Text(want.Symbol), registry.Text(got.Symbol), where)
			require.Equal(t, registry.Text(want.Uri), registry.Text(got.Uri), where)
			require.Equal(t, want.UpdateAuthority, got.UpdateAuthority, where)
			require.Equal(t, want.SellerFeeBasisPoints, got.SellerFeeBasisPoints, where)
			require.Equal(t, want.IsMutable, got.IsMutable, where)
			require.Equal(t, want.GetPrimarySaleHappened(), got.GetPrimarySaleHappened(), where)
			require.Equal(t, text(want.Collection), text(got.Collection), where)
			require.Equal(t, creatorsOf(want), creatorsOf(&got.MetadataSet), where)
			require.Equal(t, want.TokenStandard, got.TokenStandard, where)
			require.Equal(t, want.GetCollectionVerified(), got.GetCollectionVerified(), where)
		}
	}
	require.Equal(t, 38, compared)
}

func creatorsOf(set *eventspb.MetadataSet) []string {
	all := []string{}
	for _, creator := range set.GetCreators() {
		all = append(all, creator.String())
	}
	return all
}

func metaplexFixture(t *testing.T) *svmFixture {
	t.Helper()
	for _, fixture := range loadSVM(t) {
		if fixture.Name == "metaplex" {
			return &fixture
		}
	}
	require.Fail(t, "no fixture of Metaplex")
	return nil
}

// TestSVMMembership: what is known to be non-fungible is no token of the registry, by events alone.
func TestSVMMembership(t *testing.T) {
	fixture := metaplexFixture(t)
	states := map[string]*registry.State{}
	for i := range fixture.Steps {
		events, _ := fixture.Steps[i].decode(t)
		for _, event := range events {
			name := fixture.Names[base58.Encode(event.GetMint())]
			if states[name] == nil {
				states[name] = &registry.State{}
			}
			for _, fact := range registry.FactsOfEvent(event) {
				states[name].Apply(fact)
			}
		}
	}
	for name, member := range map[string]bool{
		"mint": true, "unified": true, "collection mint": false, "item": false, "programmable": false, "old item": false, "burned": false,
	} {
		require.Contains(t, states, name)
		token, got := states[name].Token(pubkey.Key{})
		require.Equal(t, member, got, name)
		require.NotEmpty(t, token.Name, "%s is known all the same", name)
	}
}
