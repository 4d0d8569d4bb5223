package registrytest

import (
	"iter"
	"math"
	"strings"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Corpus is a made-up registry as large as mainnet's. It begins with the tokens of real lists. The
// others have names as people choose them, including copies and near-copies. Token i depends only
// on the seed, the lists and i: any part can be made on its own, in any order, on any core, and
// nothing is kept in memory. Benchmarks of one size all measure the same tokens.
//
// The facts of a token are those that a projector without lag would hold. Two in five tokens were
// launched by a launchpad while the projector read the chain (one in three of those as Token-2022).
// Two in five are older tokens that were sighted and then read. One in five is a pool's share,
// without metadata. Two in five of the named tokens have an off-chain document, half of those with
// links.
type Corpus struct {
	seed   uint64
	listed []Listed
	words  []string
	shared []string // addresses of programs that are the authority of many tokens
}

// Token is what a search index needs to know of a token of the corpus.
type Token struct {
	// Index is the token's number in the corpus.
	Index        int
	Mint         pubkey.Key
	Symbol, Name string
	Decimals     uint8
	IsToken22    bool
	// Volume is the daily volume in USD, 0 if it is unknown: three tokens in a hundred have one.
	Volume float64
	// FirstSeen is a block time in Unix milliseconds.
	FirstSeen int64

	kind   kind
	random random // AppendFacts draws the facts from it
}

// Registry returns the token as an index receives it in a change. What an index does not use
// (supply, authorities, documents) is left out. If you need it, fold AppendFacts.
func (t *Token) Registry() *registry.Token {
	token := &registry.Token{
		Mint: t.Mint, Symbol: t.Symbol, Name: t.Name, Decimals: t.Decimals, IsToken22: t.IsToken22, LogoStatus: registry.LogoMissing, FirstSeenAt: &t.FirstSeen,
	}
	if t.Volume > 0 {
		token.DailyVolumeUSD = &t.Volume
	}
	return token
}

// kind is where a token comes from, see Corpus.
type kind uint8

const (
	launched kind = iota
	older
	poolShare
)

// NewCorpus makes a corpus that begins with the tokens of listed, which may be empty.
func NewCorpus(seed uint64, listed []Listed) *Corpus {
	c := &Corpus{seed: seed, listed: listed, words: wordsOf(listed)}
	r := random{state: seed ^ 0x9e3779b97f4a7c15} // not the state of token 0
	for range 64 {
		c.shared = append(c.shared, r.address(""))
	}
	return c
}

// wordsOf returns the words for made-up names: launchpadWords, and each word of the listed names as
// often as it occurs.
func wordsOf(listed []Listed) []string {
	words := strings.Fields(launchpadWords)
	for i := range listed {
		for word := range strings.FieldsSeq(listed[i].Name) {
			if len(word) <= 16 {
				words = append(words, word)
			}
		}
	}
	return words
}

// launchpadWords are words that launchpads see all day.
const launchpadWords = `Baby Doge Inu Pepe Trump Elon Cat Dog Frog Moon AI Agent Official Coin Solana Bonk Wif Hat Chad Giga Mini Super King
Queen Shiba Floki Meme Dao Cash Gold Rocket Mars Grok GPT Wojak Ape Monkey Goat Penguin Whale Bull Bear Turbo Mega Ultra Based Brett Popcat Neiro Peanut
Squirrel Hippo Sigma Skibidi Rizz Aura 2.0 X 69 420 404 1000x Inc The of the to and a on Sol Pump Fun Finance Protocol Network Token Swap World Game Pay
猫 犬 狗狗 柴犬 熊猫 月 ムーン 🚀 🐸 🐶 💎 🔥 Путин собака Café Ñandú İstanbul Größe`

// Token makes the i-th token. It allocates only its strings: one core makes more than a million a
// second.
func (c *Corpus) Token(i int) Token {
	r := random{state: c.seed + uint64(i)*0xd1342543de82ef95} // an odd constant: all states differ
	t := Token{Index: i, Decimals: 6}
	if i < len(c.listed) {
		l := &c.listed[i]
		t.Mint, t.Symbol, t.Name, t.Decimals, t.Volume = l.Mint, l.Symbol, l.Name, l.Decimals, l.Volume
		t.kind, t.FirstSeen = older, l.Created
		if t.FirstSeen == 0 {
			t.FirstSeen = epochMillis + int64(r.below(1<<35)) // within 25 days: below draws 31 bits
		}
		t.random = r
		return t
	}
	suffix := ""
	switch p := r.below(10); {
	case p < 4:
		t.kind, t.IsToken22 = launched, r.below(3) == 0
		suffix = "pump"
	case p < 8:
		t.kind, t.Decimals = older, uint8(6+3*r.below(2))
	default:
		t.kind, t.Decimals = poolShare, 9
	}
	t.Mint = pubkey.MustParse(r.address(suffix))
	// First seen is between 2021-11 and 2026-11, more often towards the end.
	t.FirstSeen = epochMillis + int64(math.Sqrt(r.unit())*5*365*86_400)*1000
	if t.kind != poolShare {
		t.Name, t.Symbol = c.name(&r)
	}
	if r.below(100) < 3 {
		// The volume is about lognormal, with a median of 55 USD.
		t.Volume = math.Exp(4 + 3*(r.unit()+r.unit()+r.unit()+r.unit()-2))
		t.Volume = math.Round(t.Volume*100) / 100
	}
	t.random = r
	return t
}

// epochMillis is 2021-11-01.
const epochMillis = 1_635_724_800_000

// name copies the name and symbol of a listed token in one of five cases, half of the copies
// slightly changed. Otherwise, or if no token is listed, it makes a name of words.
func (c *Corpus) name(r *random) (name, symbol string) {
	if len(c.listed) > 0 && r.below(5) == 0 {
		l := &c.listed[r.skewed(len(c.listed))]
		switch r.below(4) {
		case 0:
			return "Official " + l.Name, l.Symbol
		case 1:
			return l.Name, l.Symbol + string(rune('0'+r.below(10)))
		default:
			return l.Name, l.Symbol
		}
	}
	first := c.words[r.below(len(c.words))]
	switch r.below(6) {
	case 0:
		return first, ticker(first, "", 10)
	case 1, 2, 3:
		second := c.words[r.below(len(c.words))]
		return first + " " + second, ticker(first, second, 4+r.below(5))
	case 4:
		second, third := c.words[r.below(len(c.words))], c.words[r.below(len(c.words))]
		return first + " " + second + " " + third, ticker(first, second, 3+r.below(4))
	default: // a new word
		letters := make([]byte, 3+r.below(7))
		for i := range letters {
			letters[i] = "bcdfghklmnprstvz"[r.below(16)]
			if i%2 == 1 {
				letters[i] = "aeiouy"[r.below(6)]
			}
		}
		name = string(letters)
		return name, ticker(name, "", 5)
	}
}

// ticker returns the first limit characters of two words, with ASCII letters in capitals. It also
// ends once it has 32 bytes.
func ticker(first, second string, limit int) string {
	runes := 0
	buffer := make([]byte, 0, 48)
	for _, word := range [2]string{first, second} {
		for _, char := range word {
			if runes < limit && len(buffer) < 32 {
				if char >= 'a' && char <= 'z' {
					char -= 'a' - 'A'
				}
				buffer = append(buffer, string(char)...)
				runes++
			}
		}
	}
	return string(buffer)
}

// Tokens returns the first n tokens.
func (c *Corpus) Tokens(n int) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for i := range n {
			if !yield(c.Token(i)) {
				return
			}
		}
	}
}

// random is splitmix64: https://prng.di.unimi.it/splitmix64.c.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1. It draws 31 bits, so the number is also below 2^31.
func (r *random) below(n int) int { return int(r.next() >> 33 % uint64(n)) }

// unit returns a number from 0 to 1, without 1.
func (r *random) unit() float64 { return float64(r.next()>>11) / (1 << 53) }

// skewed returns a number below n, more often a low one: people copy well-known tokens.
func (r *random) skewed(n int) int {
	u := r.unit()
	return min(int(u*u*u*float64(n)), n-1)
}

const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// address returns 44 base58 digits that end with suffix and stand for 32 bytes. The first digit is
// between 1 and 16, so the number is between 2^248 and 2^256.
func (r *random) address(suffix string) string {
	var digits [44]byte
	r.digits(digits[:], base58Alphabet)
	digits[0] = base58Alphabet[1+r.below(16)]
	copy(digits[len(digits)-len(suffix):], suffix)
	return string(digits[:])
}

// digits fills dst with characters of alphabet, eight from each random number.
func (r *random) digits(dst []byte, alphabet string) {
	var bits uint64
	for i := range dst {
		if i%8 == 0 {
			bits = r.next()
		}
		dst[i] = alphabet[bits&0xff*uint64(len(alphabet))>>8]
		bits >>= 8
	}
}
