package root

import (
	"slices"
	"strings"

	"github.com/mintlake/mintlake/registry"
)

// attributes maps each extension attribute that counts to the item under which an element contains
// it. An attribute counts if both instructions and accounts state it, under one name (or two, if
// the account also keeps an old value), and if only instructions that the fold reads can change it.
// So nodes that saw the instructions and nodes that read the account have the same element. Left
// out are attributes that only an account states (withheld fees, timestamps, sizes) and the
// authorities that SetAuthority changes. The metadata pointer's address has a register of its own.
var attributes = map[string]string{
	"transfer_fee_config.transfer_fee_basis_points":       "transfer_fee_config.transfer_fee_basis_points",
	"transfer_fee_config.newer_transfer_fee_basis_points": "transfer_fee_config.transfer_fee_basis_points",
	"transfer_fee_config.maximum_fee":                     "transfer_fee_config.maximum_fee",
	"transfer_fee_config.newer_transfer_fee_maximum_fee":  "transfer_fee_config.maximum_fee",
	"interest_bearing_config.rate":                        "interest_bearing_config.rate",
	"interest_bearing_config.current_rate":                "interest_bearing_config.rate",

	"default_account_state.state":                                                 "default_account_state.state",
	"transfer_hook.program_id":                                                    "transfer_hook.program_id",
	"pausable.paused":                                                             "pausable.paused",
	"group_pointer.group_address":                                                 "group_pointer.group_address",
	"group_member_pointer.member_address":                                         "group_member_pointer.member_address",
	"token_group.max_size":                                                        "token_group.max_size",
	"token_group.update_authority":                                                "token_group.update_authority",
	"token_group_member.group":                                                    "token_group_member.group",
	"token_group_member.mint":                                                     "token_group_member.mint",
	"confidential_transfer_mint.auto_approve_new_accounts":                        "confidential_transfer_mint.auto_approve_new_accounts",
	"confidential_transfer_mint.auditor_elgamal_pubkey":                           "confidential_transfer_mint.auditor_elgamal_pubkey",
	"confidential_transfer_fee_config.harvest_to_mint_enabled":                    "confidential_transfer_fee_config.harvest_to_mint_enabled",
	"confidential_transfer_fee_config.withdraw_withheld_authority_elgamal_pubkey": "confidential_transfer_fee_config.withdraw_withheld_authority_elgamal_pubkey",
	"confidential_mint_burn.supply_elgamal_pubkey":                                "confidential_mint_burn.supply_elgamal_pubkey",
}

// extensionItem returns the item under which an element contains a fact about an extension, and
// false if the fact does not count. An extension itself counts, with two exceptions that no
// instruction's event names: token_metadata, which shows in the metadata's registers, and
// unknown_N, an extension that this version does not know.
func extensionItem(item string) (string, bool) {
	if strings.IndexByte(item, '.') >= 0 {
		shown, ok := attributes[item]
		return shown, ok
	}
	return item, item != "token_metadata" && !strings.HasPrefix(item, "unknown_")
}

// appendExtensions appends the extensions and their attributes, sorted by item. If an attribute has
// two names, the later fact counts.
func appendExtensions(dst []byte, facts []registry.Fact) []byte {
	type shown struct {
		item string
		fact *registry.Fact
	}
	var buf [24]shown
	list := buf[:0]
	for i := range facts {
		item, ok := extensionItem(facts[i].Item)
		if !ok {
			continue
		}
		at, found := slices.BinarySearchFunc(list, item, func(s shown, item string) int { return strings.Compare(s.item, item) })
		switch {
		case !found:
			list = slices.Insert(list, at, shown{item, &facts[i]})
		case later(&facts[i], list[at].fact):
			list[at].fact = &facts[i]
		}
	}
	for _, s := range list {
		value := s.fact.Value
		if strings.IndexByte(s.item, '.') < 0 {
			value = "" // an element says only that the mint has the extension
		} else if value == "" {
			continue
		}
		dst = appendField(dst, registry.RegisterExtension, s.item)
		dst = appendText(dst, value)
	}
	return dst
}

// later reports whether a beats b by the fold's rule: the higher position, then the higher value.
func later(a, b *registry.Fact) bool {
	if c := a.Position.Compare(b.Position); c != 0 {
		return c > 0
	}
	return a.Value > b.Value
}
