package stream

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// authorityTypes are Agave's names of SetAuthority's authority types, by number.
var authorityTypes = []string{
	"mintTokens", "freezeAccount", "accountOwner", "closeAccount", "transferFeeConfig", "withheldWithdraw", "closeMint", "interestRate",
	"permanentDelegate", "confidentialTransferMint", "transferHookProgramId", "confidentialTransferFeeConfig", "metadataPointer",
	"groupPointer", "groupMemberPointer", "scaledUiAmount", "pause", "permissionedBurn",
}

// extensionTypes are Agave's names of Token-2022's extension types, by number.
var extensionTypes = []string{
	"uninitialized", "transferFeeConfig", "transferFeeAmount", "mintCloseAuthority", "confidentialTransferMint",
	"confidentialTransferAccount", "defaultAccountState", "immutableOwner", "memoTransfer", "nonTransferable",
	"interestBearingConfig", "cpiGuard", "permanentDelegate", "nonTransferableAccount", "transferHook",
	"transferHookAccount", "confidentialTransferFeeConfig", "confidentialTransferFeeAmount", "metadataPointer",
	"tokenMetadata", "groupPointer", "tokenGroup", "groupMemberPointer", "tokenGroupMember", "confidentialMintBurn",
	"scaledUiAmount", "pausable", "pausableAccount", "permissionedBurn",
}

// parseToken reads the instructions that Token and Token-2022 share: 0 to 24, 38, 45 and 255. For
// all others, such as those of Token-2022's extensions, it returns nil.
func parseToken(accounts []string, data []byte) any {
	a := &arguments{data: data}
	switch kind := a.byte(); kind {
	case 0, 1, 2, 16, 18, 19, 20, 22:
		return parseTokenInitialize(kind, accounts, a)
	case 3:
		return signed(call("transfer", accounts, "source", "destination"), accounts, "authority", "multisigAuthority").with(a, "amount", a.amount())
	case 4:
		return signed(call("approve", accounts, "source", "delegate"), accounts, "owner", "multisigOwner").with(a, "amount", a.amount())
	case 5:
		return signed(call("revoke", accounts, "source"), accounts, "owner", "multisigOwner").with(a)
	case 6:
		return parseSetAuthority(accounts, a)
	case 7:
		return signed(call("mintTo", accounts, "mint", "account"), accounts, "mintAuthority", "multisigMintAuthority").with(a, "amount", a.amount())
	case 8:
		return signed(call("burn", accounts, "account", "mint"), accounts, "authority", "multisigAuthority").with(a, "amount", a.amount())
	case 9:
		return signed(call("closeAccount", accounts, "account", "destination"), accounts, "owner", "multisigOwner").with(a)
	case 10:
		return signed(call("freezeAccount", accounts, "account", "mint"), accounts, "freezeAuthority", "multisigFreezeAuthority").with(a)
	case 11:
		return signed(call("thawAccount", accounts, "account", "mint"), accounts, "freezeAuthority", "multisigFreezeAuthority").with(a)
	case 12:
		return signed(call("transferChecked", accounts, "source", "mint", "destination"), accounts, "authority", "multisigAuthority").with(a, "tokenAmount", a.tokenAmount())
	case 13:
		return signed(call("approveChecked", accounts, "source", "mint", "delegate"), accounts, "owner", "multisigOwner").with(a, "tokenAmount", a.tokenAmount())
	case 14:
		return signed(call("mintToChecked", accounts, "mint", "account"), accounts, "mintAuthority", "multisigMintAuthority").with(a, "tokenAmount", a.tokenAmount())
	case 15:
		return signed(call("burnChecked", accounts, "account", "mint"), accounts, "authority", "multisigAuthority").with(a, "tokenAmount", a.tokenAmount())
	case 17:
		return call("syncNative", accounts, "account").with(a)
	case 21:
		return parseDataSize(accounts, a)
	case 23:
		return call("amountToUiAmount", accounts, "mint").with(a, "amount", a.amount())
	case 24:
		return call("uiAmountToAmount", accounts, "mint").with(a, "uiAmount", a.rest())
	case 38:
		return signed(call("withdrawExcessLamports", accounts, "source", "destination"), accounts, "authority", "multisigAuthority").with(a)
	case 45:
		c := signed(call("unwrapLamports", accounts, "source", "destination"), accounts, "authority", "multisigAuthority")
		if a.byte() == 0 {
			return c.with(a)
		}
		return c.with(a, "amount", a.amount())
	case batchToken:
		return parseBatch(accounts, a)
	}
	return nil
}

func parseDataSize(accounts []string, a *arguments) any {
	c := call("getAccountDataSize", accounts, "mint")
	var names []string
	for len(a.data) > 0 {
		kind := int(binary.LittleEndian.Uint16(a.take(2)))
		if kind >= len(extensionTypes) {
			return nil
		}
		names = append(names, extensionTypes[kind])
	}
	if names == nil {
		return c.with(a)
	}
	return c.with(a, "extensionTypes", names)
}

// batchToken is the instruction that contains other instructions. It must not contain a batchToken.
const batchToken = 255

// parseBatch reads the instructions of a batch. Each is the number of its accounts and the length
// of its data, one byte each, and the data. If one of them is unknown, the batch is unknown.
func parseBatch(accounts []string, a *arguments) any {
	list := []any{}
	for len(a.data) > 0 {
		n := int(a.byte())
		data := a.take(uint64(a.byte()))
		if a.bad || n > len(accounts) || len(data) > 0 && data[0] == batchToken {
			return nil
		}
		parsed := parseToken(accounts[:n], data)
		if parsed == nil {
			return nil
		}
		accounts, list = accounts[n:], append(list, parsed)
	}
	return &jsonCall{"batch", map[string]any{"instructions": list}}
}

func parseTokenInitialize(kind byte, accounts []string, a *arguments) any {
	switch kind {
	case 0, 20:
		c := call("initializeMint2", accounts, "mint")
		if kind == 0 {
			c = call("initializeMint", accounts, "mint", "rentSysvar")
		}
		decimals, authority := a.byte(), a.key()
		if freeze := a.optionalKey(); freeze != nil {
			return c.with(a, "decimals", decimals, "mintAuthority", authority, "freezeAuthority", freeze)
		}
		return c.with(a, "decimals", decimals, "mintAuthority", authority)
	case 1:
		return call("initializeAccount", accounts, "account", "mint", "owner", "rentSysvar").with(a)
	case 16:
		return call("initializeAccount2", accounts, "account", "mint", "rentSysvar").with(a, "owner", a.key())
	case 18:
		return call("initializeAccount3", accounts, "account", "mint").with(a, "owner", a.key())
	case 2, 19:
		c, first := call("initializeMultisig2", accounts, "multisig"), 1
		if kind == 2 {
			c, first = call("initializeMultisig", accounts, "multisig", "rentSysvar"), 2
		}
		return c.with(a, "m", a.byte(), "signers", accounts[min(first, len(accounts)):])
	case 22:
		return call("initializeImmutableOwner", accounts, "account").with(a)
	}
	return nil
}

func parseSetAuthority(accounts []string, a *arguments) any {
	kind := int(a.byte())
	if kind >= len(authorityTypes) {
		return nil
	}
	owned := "mint"
	if kind == 2 || kind == 3 {
		owned = "account"
	}
	return signed(call("setAuthority", accounts, owned), accounts, "authority", "multisigAuthority").with(a,
		"authorityType", authorityTypes[kind], "newAuthority", a.optionalKey())
}

// signed adds the authority to c.Info: the first account after those that c has already. Its name
// is one. If more accounts follow, the authority is a multisig: its name is multisig, and the
// accounts that follow are its signers.
func signed(c *jsonCall, accounts []string, one, multisig string) *jsonCall {
	if c == nil || len(accounts) <= len(c.Info) {
		return nil
	}
	at := len(c.Info)
	if signers := accounts[at+1:]; len(signers) > 0 {
		c.Info[multisig], c.Info["signers"] = accounts[at], signers
	} else {
		c.Info[one] = accounts[at]
	}
	return c
}

func (a *arguments) amount() string { return strconv.FormatUint(a.u64(), 10) }

// tokenAmount reads an amount and its decimals.
func (a *arguments) tokenAmount() jsonAmount {
	amount := a.u64()
	decimals := a.byte()
	out := jsonAmount{Amount: strconv.FormatUint(amount, 10), Decimals: uint32(decimals)}
	out.UIAmountString = decimal(out.Amount, int(decimals))
	// A big.Rat rounds only once, like the division of exact numbers in a node.
	if v, _ := new(big.Rat).SetFrac(new(big.Int).SetUint64(amount), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)).Float64(); !math.IsInf(v, 0) {
		out.UIAmount = &v
	}
	return out
}

// decimal returns the number digits divided by 10 to the power of decimals, without zeros at the
// end: "1.5" for "1500" and 3.
func decimal(digits string, decimals int) string {
	if decimals == 0 {
		return digits
	}
	if len(digits) <= decimals {
		digits = strings.Repeat("0", decimals+1-len(digits)) + digits
	}
	at := len(digits) - decimals
	return strings.TrimSuffix(strings.TrimRight(digits[:at]+"."+digits[at:], "0"), ".")
}
