package decode_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// accountOnly explains, by name, what a mint account holds and no event can say: the program
// computes it from state or a clock that no instruction carries. A read of the account is the only
// source.
var accountOnly = map[string]string{
	"transfer_fee_config.older_transfer_fee_epoch":        "the cluster's epoch, which is no part of a transaction",
	"transfer_fee_config.newer_transfer_fee_epoch":        "the cluster's epoch, plus two after SetTransferFee",
	"transfer_fee_config.older_transfer_fee_basis_points": "SetTransferFee moves the newer fee here only if its epoch has come",
	"transfer_fee_config.older_transfer_fee_maximum_fee":  "as the basis points",
	"transfer_fee_config.withheld_amount":                 "HarvestWithheldTokensToMint adds what its accounts hold",
	"interest_bearing_config.initialization_timestamp":    "the clock's time",
	"interest_bearing_config.last_update_timestamp":       "the clock's time",
	"interest_bearing_config.pre_update_average_rate":     "an average over the time since the initialisation",
	"scaled_ui_amount.multiplier":                         "the new multiplier becomes it when its time has come",
	"confidential_transfer_fee_config.withheld_amount":    "HarvestWithheldTokensToMint adds what its accounts hold",
	"confidential_mint_burn.confidential_supply":          "a ciphertext: ConfidentialMint adds to it, ApplyPendingBurn takes from it",
	"confidential_mint_burn.pending_burn":                 "a ciphertext: ConfidentialBurn adds to it",
	"token_group.size":                                    "InitializeMember adds one; its event is the member's",
	"token_group_member.member_number":                    "the group's size when the member joined",
	"token_metadata.additional_fields":                    "their number; the fields are compared one by one",
}

// folded is what events alone say of one mint.
type folded struct {
	state registry.State
	// isMint says that the address was a mint at some time.
	isMint bool
}

func (f *folded) apply(event *eventspb.TokenEvent) {
	for _, fact := range registry.FactsOfEvent(event) {
		f.state.Apply(fact)
	}
}

// TestSVMFold is the proof of the decoders: after every transaction that the programs ran, folding
// the events so far gives the very mint accounts that the programs left, field by field; each
// difference is explained by name, and each explanation is needed.
func TestSVMFold(t *testing.T) {
	used := map[string]struct{}{}
	compared := 0
	for _, fixture := range loadSVM(t) {
		t.Run(fixture.Name, func(t *testing.T) {
			mints, metadata := map[string]*folded{}, map[string]bool{}
			of := func(mint string) *folded {
				if mints[mint] == nil {
					mints[mint] = &folded{}
				}
				return mints[mint]
			}
			for i := range fixture.Steps {
				step := &fixture.Steps[i]
				events, _ := step.decode(t)
				spokenOf := map[string]bool{}
				for _, event := range events {
					mint := base58.Encode(event.GetMint())
					of(mint).apply(event)
					spokenOf[mint] = true
				}
				for address, account := range step.Mints {
					if metadata[address] = metadata[address] || account != nil && account.Owner == schemas.ProgramMetaplex; metadata[address] {
						continue // see TestSVMMetaplexFold
					}
					where := step.Name + ", " + fixture.Names[address]
					mint := of(address)
					mint.isMint = true
					compared++
					if !spokenOf[address] {
						require.Equal(t, "token_group", changedAlone(t, mint, address, account, used), "%s changed without an event", where)
						continue
					}
					compareFold(t, where, mint, address, account, used)
				}
			}
			for address, mint := range mints {
				key, _ := pubkey.Parse(address) // there is none in what names no mint
				if _, member := mint.state.Token(key); !mint.isMint {
					require.False(t, member, "%s never was a mint", fixture.Names[address])
				}
			}
		})
	}
	require.Greater(t, compared, 70)
	for name := range accountOnly {
		require.Contains(t, used, name, "this explanation explains nothing")
	}
}

// changedAlone names the one extension that may change without an event of its mint: a group grows
// by events of its members.
func changedAlone(t *testing.T, mint *folded, address string, account *svmAccount, used map[string]struct{}) string {
	t.Helper()
	require.NotNil(t, account)
	compareFold(t, "without an event", mint, address, account, used)
	for _, fact := range accountState(t, address, account).Facts() {
		if fact.Register == registry.RegisterExtension && fact.Item == "token_group.size" && fact.Value != "0" {
			return "token_group"
		}
	}
	return ""
}

func accountState(t *testing.T, address string, account *svmAccount) *registry.State {
	t.Helper()
	mint, err := tokenaccount.ParseMint(key(t, account.Owner), account.Data)
	require.NoError(t, err)
	k := key(t, address)
	read := &eventspb.Enrichment{Mint: k[:], Slot: 1, Fact: &eventspb.Enrichment_MintAccount{MintAccount: mint.Fact(k)}}
	var state registry.State
	for _, fact := range registry.FactsOfEnrichment(read) {
		state.Apply(fact)
	}
	return &state
}

func compareFold(t *testing.T, where string, got *folded, address string, account *svmAccount, used map[string]struct{}) {
	t.Helper()
	if account == nil {
		_, member := got.state.Token(pubkey.MustParse(address))
		require.False(t, member, "%s is closed", where)
		return
	}
	want := accountState(t, address, account)
	gotFacts, wantFacts := values(&got.state), values(want)
	for name, value := range wantFacts {
		if held, ok := gotFacts[name]; ok && held == value {
			continue
		}
		require.Contains(t, accountOnly, name, "%s: events say %q, the account %q", where, gotFacts[name], value)
		require.Empty(t, gotFacts[name], "%s: %s is %q in the account: what events cannot say is unknown, and not what it was", where, name, value)
		used[name] = struct{}{}
	}
	for name, value := range gotFacts {
		if _, explained := accountOnly[name]; explained && value == "" {
			continue // unknown
		}
		require.Contains(t, wantFacts, name, "%s: the account has no such thing", where)
	}
	gotToken, _ := got.state.Token(pubkey.MustParse(address))
	wantToken, _ := want.Token(pubkey.MustParse(address))
	require.NotNil(t, gotToken.Supply, where)
	require.Equal(t, *wantToken.Supply, *gotToken.Supply, where)
}

// values are the facts of a mint by name, but for the supply (compared as a sum) and the times at
// which events came.
func values(state *registry.State) map[string]string {
	skip := []registry.Register{
		registry.RegisterSupply, registry.RegisterSupplyDelta, registry.RegisterFirstSeen, registry.RegisterLastSeen,
		registry.RegisterMetaplexName, registry.RegisterMetaplexSymbol, registry.RegisterMetaplexURI, registry.RegisterMetaplexUpdateAuthority,
		registry.RegisterSellerFeeBasisPoints, registry.RegisterTokenStandard, // of another account
	}
	all := map[string]string{}
	for _, fact := range state.Facts() {
		switch {
		case slices.Contains(skip, fact.Register), fact.Register == registry.RegisterClosed && fact.Item != "":
		case fact.Register == registry.RegisterToken2022Field:
			// not where all of them were stated, and not one that was removed
			if fact.Item != "" && fact.Value != "" {
				all["field "+fact.Item] = fact.Value
			}
		case fact.Register == registry.RegisterExtension:
			all[fact.Item] = fact.Value
		case fact.Register == registry.RegisterMetadataPointer && fact.Value == "":
			// No pointer at all and one that points nowhere read the same; the extension's own
			// attribute tells them apart.
		default:
			all["register "+strconv.Itoa(int(fact.Register))] = fact.Value
		}
	}
	return all
}

// TestSVMExtensions: the fixtures hold every mint extension that the program has, each with its
// layout understood.
func TestSVMExtensions(t *testing.T) {
	seen := map[string]bool{}
	for _, fixture := range loadSVM(t) {
		for _, step := range fixture.Steps {
			for _, account := range step.Mints {
				if account == nil || account.Owner == schemas.ProgramMetaplex {
					continue
				}
				mint, err := tokenaccount.ParseMint(key(t, account.Owner), account.Data)
				require.NoError(t, err)
				for _, extension := range mint.Extensions {
					seen[extension.Name] = true
					for _, attribute := range extension.Attributes {
						require.NotEqual(t, "raw", attribute.Name, extension.Name)
					}
				}
			}
		}
	}
	// Those of token accounts, by the names of the program's ExtensionType.
	ofAccounts := []string{
		"uninitialized", "transfer_fee_amount", "confidential_transfer_account", "immutable_owner", "memo_transfer", "cpi_guard",
		"non_transferable_account", "transfer_hook_account", "confidential_transfer_fee_amount", "pausable_account",
	}
	for extensionType := uint16(0); ; extensionType++ {
		name := tokenaccount.ExtensionName(extensionType)
		if strings.HasPrefix(name, "unknown_") {
			require.EqualValues(t, 29, extensionType)
			return
		}
		require.Equal(t, !slices.Contains(ofAccounts, name), seen[name], name)
	}
}
