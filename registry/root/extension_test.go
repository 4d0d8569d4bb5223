package root_test

import (
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func program(t *testing.T) []byte {
	t.Helper()
	raw, err := base58.Decode(schemas.ProgramToken2022)
	require.NoError(t, err)
	return raw
}

// instruction is a token event of the generator's first mint.
func instruction(t *testing.T, slot uint64, index uint32, set func(*eventspb.TokenEvent)) []registry.Fact {
	t.Helper()
	e := &eventspb.TokenEvent{
		Position: &eventspb.Position{Slot: slot, TransactionIndex: &index}, BlockTime: 1_700_000_000, ProgramId: program(t),
		Signature: append([]byte{byte(slot), byte(index)}, make([]byte, 62)...), Mint: registrytest.Mint(1),
	}
	set(e)
	return registry.FactsOfEvent(e)
}

func extension(name string, attributes ...string) *eventspb.ExtensionSet {
	set := &eventspb.ExtensionSet{Extension: name}
	for i := 0; i < len(attributes); i += 2 {
		set.Attributes = append(set.Attributes, &eventspb.Attribute{Name: attributes[i], Value: attributes[i+1]})
	}
	return set
}

// TestReadingAddsNothingToWhatInstructionsSaid: a node that has read the mint's account has the
// root of one that has seen its instructions, whether it read before, between or after them.
func TestReadingAddsNothingToWhatInstructionsSaid(t *testing.T) {
	authority := registrytest.Mint(7)
	metadata := &eventspb.MetadataSet{
		MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022,
		Name:            []byte("Name\x00"), Symbol: []byte("N"), Uri: []byte("https://u"), UpdateAuthority: authority,
	}
	mint := base58.Encode(registrytest.Mint(1))
	var index uint32
	said := func(slot uint64, set func(*eventspb.TokenEvent)) []registry.Fact {
		index++
		return instruction(t, slot, index, set)
	}
	extended := func(slot uint64, set *eventspb.ExtensionSet) []registry.Fact {
		return said(slot, func(e *eventspb.TokenEvent) { e.Payload = &eventspb.TokenEvent_ExtensionSet{ExtensionSet: set} })
	}
	read := func(slot uint64, supply uint64, fee, rate, paused string) []registry.Fact {
		return registry.FactsOfEnrichment(&eventspb.Enrichment{Mint: registrytest.Mint(1), Slot: slot, Fact: &eventspb.Enrichment_MintAccount{
			MintAccount: &eventspb.MintAccount{
				ProgramId: program(t), Decimals: 6, Supply: supply, MintAuthority: authority, MetadataPointer: registrytest.Mint(1), TokenMetadata: metadata,
				Extensions: []*eventspb.ExtensionSet{
					extension("metadata_pointer", "authority", "", "metadata_address", mint),
					extension("transfer_fee_config", "transfer_fee_config_authority", "x", "withdraw_withheld_authority", "y", "withheld_amount", "77",
						"older_transfer_fee_epoch", "1", "older_transfer_fee_maximum_fee", "5", "older_transfer_fee_basis_points", "1",
						"newer_transfer_fee_epoch", "3", "newer_transfer_fee_maximum_fee", "9", "newer_transfer_fee_basis_points", fee),
					extension("interest_bearing_config", "rate_authority", "", "initialization_timestamp", "1", "pre_update_average_rate", "1",
						"last_update_timestamp", "2", "current_rate", rate),
					extension("pausable", "authority", "", "paused", paused),
					extension("token_metadata", "additional_fields", "0", "mint", mint, "update_authority", "x"),
				},
			},
		}})
	}

	var created, changed []registry.Fact
	for _, set := range []*eventspb.ExtensionSet{
		extension("metadata_pointer", "authority", "", "metadata_address", mint),
		extension("transfer_fee_config", "transfer_fee_config_authority", "x", "withdraw_withheld_authority", "y",
			"transfer_fee_basis_points", "10", "maximum_fee", "9"),
		extension("interest_bearing_config", "rate_authority", "", "rate", "-5"),
		extension("pausable", "authority", "", "paused", "false"),
	} {
		created = append(created, extended(10, set)...)
	}
	created = append(created, said(10, func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_InitializeMint{InitializeMint: &eventspb.InitializeMint{Decimals: 6, MintAuthority: authority}}
	})...)
	created = append(created, said(10, func(e *eventspb.TokenEvent) { e.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: metadata} })...)
	created = append(created, said(11, func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 500}}
	})...)
	changed = append(changed, extended(20, extension("transfer_fee_config", "transfer_fee_basis_points", "20", "maximum_fee", "9"))...)
	changed = append(changed, extended(20, extension("interest_bearing_config", "rate", "8"))...)
	changed = append(changed, extended(21, extension("pausable", "paused", "true"))...)
	changed = append(changed, said(22, func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_Burn{Burn: &eventspb.AmountChange{Amount: 20}}
	})...)

	roots := func(facts ...[]registry.Fact) (between, after root.Sum) {
		var all []registry.Fact
		for _, f := range facts {
			all = append(all, f...)
		}
		return replay(all, 15).Hash, replay(all, root.EverySlot).Hash
	}
	before, after := read(12, 500, "10", "-5", "false"), read(30, 480, "20", "8", "true")
	between, end := roots(created, changed)
	require.NotEqual(t, between, end)
	for name, facts := range map[string][][]registry.Fact{
		"read early":          {created, before, changed},
		"read late":           {created, changed, after},
		"read twice":          {after, changed, before, created},
		"creation not seen":   {before, changed},
		"creation not stated": {before, changed, after},
	} {
		gotBetween, gotEnd := roots(facts...)
		require.Equal(t, between, gotBetween, name)
		require.Equal(t, end, gotEnd, name)
	}
	_, end2 := roots(after)
	require.Equal(t, end, end2, "only read, late")
}

func TestAttributesCount(t *testing.T) {
	plain, _ := root.AppendEncode(nil, mintA, stateOf(whole()...))
	for _, attribute := range []string{
		"transfer_fee_config.newer_transfer_fee_basis_points", "transfer_fee_config.maximum_fee", "interest_bearing_config.rate",
		"default_account_state.state", "pausable.paused", "token_group.max_size",
	} {
		one, _ := root.AppendEncode(nil, mintA, stateOf(append(whole(), item(registry.RegisterExtension, attribute, 6, "1"))...))
		two, _ := root.AppendEncode(nil, mintA, stateOf(append(whole(), item(registry.RegisterExtension, attribute, 6, "2"))...))
		require.NotEqual(t, plain, one, attribute)
		require.NotEqual(t, one, two, attribute)
	}
}
