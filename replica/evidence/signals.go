package evidence

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/unicode/norm"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Signal is a fact about a token that a user may want to look at. None is proof of anything:
// stablecoins have freeze authorities too.
type Signal string

// Signals. The first six are about what the eye sees, the others about who can do what;
// docs/evidence.md has the rules.
const (
	SignalHomoglyph   Signal = "homoglyph"
	SignalCopiedName  Signal = "copied_name"
	SignalCopiedLogo  Signal = "copied_logo"
	SignalURLInName   Signal = "url_in_name"
	SignalMixedScript Signal = "mixed_scripts"
	SignalInvisible   Signal = "invisible_characters"

	SignalMintAuthority   Signal = "mint_authority"
	SignalFreezeAuthority Signal = "freeze_authority"
	SignalPermanent       Signal = "permanent_delegate"
	SignalHook            Signal = "transfer_hook"
	SignalFee             Signal = "transfer_fee"
	SignalDefaultState    Signal = "default_account_state"
	SignalPausable        Signal = "pausable"
	SignalNonTransferable Signal = "non_transferable"
	SignalConfidential    Signal = "confidential_transfer"
	SignalMintClose       Signal = "mint_close_authority"
	SignalInterest        Signal = "interest_bearing"
	SignalScaled          Signal = "scaled_ui_amount"
	SignalBurnPermission  Signal = "permissioned_burn"
	// The last is about its trading.
	SignalThinMarket Signal = "thin_market"
)

// extensionSignals are the Token-2022 extensions that change what holding a token means, by their
// kind, in the order of the answer.
var extensionSignals = []struct {
	kind   string
	signal Signal
}{
	{"permanent_delegate", SignalPermanent}, {"transfer_hook", SignalHook}, {"transfer_fee_config", SignalFee},
	{"default_account_state", SignalDefaultState}, {"pausable", SignalPausable}, {"non_transferable", SignalNonTransferable},
	{"confidential_transfer_mint", SignalConfidential}, {"mint_close_authority", SignalMintClose}, {"interest_bearing_config", SignalInterest},
	{"scaled_ui_amount", SignalScaled}, {"permissioned_burn", SignalBurnPermission},
}

// CopiedLogo returns whether the logo of a token is a copy of another token's.
type CopiedLogo func(mint pubkey.Key) bool

// look is what the signals of a token are computed from. copied is place.copied.
type look struct {
	token, canonical *registry.Token
	copied           bool
	extensions       []string
	// thin is Rows.Thin.
	thin bool
}

// signals returns the signals of a token, in the order of the constants.
func (x *Index) signals(l *look) []Signal {
	signals := []Signal{}
	add := func(holds bool, signal Signal) {
		if holds {
			signals = append(signals, signal)
		}
	}
	t := l.token
	add(x.homoglyph(l), SignalHomoglyph)
	add(l.copied, SignalCopiedName)
	add(x.CopiedLogo != nil && x.CopiedLogo(t.Mint), SignalCopiedLogo)
	add(hasURL(t.Name) || hasURL(t.Symbol), SignalURLInName)
	add(mixesScripts(t.Symbol) || mixesScripts(t.Name), SignalMixedScript)
	add(hasInvisible(t.Symbol) || hasInvisible(t.Name), SignalInvisible)
	add(t.MintAuthority != nil, SignalMintAuthority)
	add(t.FreezeAuthority != nil, SignalFreezeAuthority)
	for _, e := range extensionSignals {
		_, has := slices.BinarySearch(l.extensions, e.kind)
		add(has, e.signal)
	}
	add(l.thin, SignalThinMarket)
	return signals
}

// homoglyph returns whether the symbol or the name looks like the canonical token's but is written
// differently.
func (x *Index) homoglyph(l *look) bool {
	if l.token == l.canonical {
		return false
	}
	if plain(l.token.Symbol) != plain(l.canonical.Symbol) {
		return true
	}
	return plain(l.token.Name) != plain(l.canonical.Name) && x.skeletons.Text(l.token.Name) == x.skeletons.Text(l.canonical.Name)
}

// plain returns a text without what nobody would call a difference between two texts: case,
// compatibility forms, leading $ and #, white space around. Each run of white space inside becomes
// one space.
func plain(text string) string {
	return blanks(strings.TrimLeft(search.Normalise(text), "$#"))
}

// hasURL returns whether a text names a place on the web: it has a scheme, or a word with a dot
// that ends in a domain of the Public Suffix List's ICANN part.
func hasURL(text string) bool {
	if !strings.ContainsAny(text, ".:。．｡") {
		return false
	}
	text = strings.NewReplacer("。", ".", "｡", ".").Replace(search.Normalise(text))
	if strings.Contains(text, "://") {
		return true
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '-'
	})
	return slices.ContainsFunc(words, isDomain)
}

// isDomain returns whether a word has a public suffix and something before it. Before the first dot
// there must be at least two bytes.
func isDomain(word string) bool {
	word = strings.Trim(word, ".-")
	dot := strings.IndexByte(word, '.')
	if dot < 2 || strings.Contains(word, "..") { // "U.S" and "e.g." are no domains
		return false
	}
	suffix, icann := publicsuffix.PublicSuffix(word)
	return icann && suffix != word && len(suffix) >= 2
}

// scripts have a bit each. Those of Chinese, Japanese and Korean share one, as a word may mix them
// with each other; it may mix them with Latin letters too. UTS #39, section 5.1.
var scripts = []struct {
	table *unicode.RangeTable
	bit   int
}{
	{unicode.Latin, scriptLatin}, {unicode.Han, scriptEastAsian}, {unicode.Hiragana, scriptEastAsian}, {unicode.Katakana, scriptEastAsian},
	{unicode.Hangul, scriptEastAsian}, {unicode.Bopomofo, scriptEastAsian},
	{unicode.Cyrillic, 1 << 2}, {unicode.Greek, 1 << 3}, {unicode.Arabic, 1 << 4}, {unicode.Hebrew, 1 << 5}, {unicode.Armenian, 1 << 6},
	{unicode.Georgian, 1 << 7}, {unicode.Cherokee, 1 << 8}, {unicode.Coptic, 1 << 9}, {unicode.Thai, 1 << 10}, {unicode.Devanagari, 1 << 11},
	{unicode.Canadian_Aboriginal, 1 << 12}, {unicode.Lisu, 1 << 13}, {unicode.Deseret, 1 << 14}, {unicode.Tifinagh, 1 << 15}, {unicode.Runic, 1 << 16},
}

const (
	scriptLatin     = 1
	scriptEastAsian = 2
	scriptOther     = 1 << 30
)

// mixesScripts returns whether one word has letters of two scripts that no writing system mixes. A
// text with words of different scripts is common.
func mixesScripts(text string) bool {
	if isASCII(text) {
		return false
	}
	return slices.ContainsFunc(strings.Fields(norm.NFKC.String(text)), func(word string) bool {
		seen := 0
		for _, r := range word {
			seen |= scriptOf(r)
		}
		// seen&(seen-1) is not 0 if two bits are set or more.
		return seen&^scriptLatin != 0 && seen&(seen-1) != 0 && seen != scriptLatin|scriptEastAsian
	})
}

// scriptOf returns the bit of a letter's script; 0 if it is no letter, or one of all scripts.
func scriptOf(r rune) int {
	if !unicode.IsLetter(r) || unicode.Is(unicode.Common, r) {
		return 0
	}
	for i := range scripts {
		if unicode.Is(scripts[i].table, r) {
			return scripts[i].bit
		}
	}
	return scriptOther
}

// hasInvisible returns whether a text has characters that show nothing or turn its direction.
// Joiners and variation selectors do not count after an emoji or a letter that is written with
// them.
func hasInvisible(text string) bool {
	if isASCII(text) {
		return false
	}
	before := ' '
	for _, r := range text {
		if ignorable(r) && !belongs(before, r) {
			return true
		}
		before = r
	}
	return false
}

const (
	zeroWidthNonJoiner = 0x200C
	zeroWidthJoiner    = 0x200D
	firstTag, lastTag  = 0xE0020, 0xE007F
	blackFlag          = 0x1F3F4
)

// belongs returns whether an ignorable character is part of the character before it.
func belongs(before, r rune) bool {
	pictured := unicode.Is(unicode.So, before) || unicode.Is(unicode.Sk, before) || unicode.Is(unicode.Variation_Selector, before)
	switch {
	case unicode.Is(unicode.Variation_Selector, r):
		return pictured || unicode.IsDigit(before) || strings.ContainsRune("#*‼⁉™©®", before) || unicode.Is(unicode.Han, before) || unicode.Is(unicode.Sm, before) || unicode.Is(unicode.Po, before)
	case r >= firstTag && r <= lastTag:
		return before == blackFlag || before >= firstTag && before <= lastTag
	case r == zeroWidthJoiner, r == zeroWidthNonJoiner:
		return pictured || unicode.Is(unicode.Mn, before) || unicode.In(before, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Sinhala, unicode.Malayalam)
	}
	return false
}
