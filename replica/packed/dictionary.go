package packed

import (
	"slices"
	"strings"
)

// Codes of the text packing: control characters, which hardly any text has. A text that has one is
// kept as it is.
const (
	codeCIDv0   = iota // "Qm" and 44 digits: 32 bytes of a SHA-256
	codeRaw            // "bafkrei" and 52 letters: 32 bytes of a SHA-256
	codeDAG            // "bafybei" and 52 letters: 32 bytes of a SHA-256
	codeBase64         // 43 letters of base64url: 32 bytes
	codeKey            // base58 of 32 bytes
	codeSpan           // one byte: the number of an earlier value of the state, see textPacker
	codeWord           // one byte: the number of a word of the dictionary
	firstWord          // this code and those up to maxCode stand for the dictionary's first words
	maxCode     = 0x1f
	directWords = maxCode - firstWord + 1
)

// dictionary are strings that many texts of a registry contain, the most frequent first, 256 at
// most: pieces of the JSON of registry.Offchain, Logo and ListEntry, and of the addresses of
// metadata and images. Packed texts refer to words by their numbers, so a change of the list
// changes Form, and older checkpoints are not read.
var dictionary = []string{
	`{"uri":"`, `","name":"`, `","symbol":"`, `","description":"`, `","image":"`, `","external_url":"`, `","extensions":{"twitter":"`,
	`","website":"`, `"}}`, `{"url":"`, `","status":"ok"}`, "https://ipfs.io/ipfs/", "https://", "https://x.com/", `","extensions":{"telegram":"`,
	`","twitter":"`, "https://t.me/", "https://arweave.net/", `"}`, "https://cf-ipfs.com/ipfs/", `.json`, ".com", ".png", `","extensions":{"website":"`, "https://pump.fun",
	// In a packed text, each word from here on takes two bytes.
	`","status":"broken"}`, `"},"tags":["`, `","tags":["`, `","`, `":"`, `"]}`, `{"name":"`, `","logo_uri":"`, `","decimals":`, `,"logo_uri":"`, `,"tags":["`,
	`","extensions":{"coingeckoId":"`, `"],"extensions":{"coingeckoId":"`, `","telegram":"`, `","extensions":{"discord":"`, `","discord":"`,
	"https://metadata.j7tracker.com/metadata/", "https://raw.githubusercontent.com/solana-labs/token-list/main/assets/mainnet/", "https://raw.githubusercontent.com/", "/logo.png",
	"https://www.", "https://x.com/i/communities/", "https://x.com/search?q=", "/status/", "https://twitter.com/", "https://www.instagram.com/", "https://www.tiktok.com/@",
	"https://discord.gg/", "https://discord.com/invite/", "https://medium.com/", "https://github.com/", "https://www.youtube.com/watch?v=", "https://youtube.com/", "https://en.wikipedia.org/wiki/",
	"https://gateway.pinata.cloud/ipfs/", "https://nftstorage.link/ipfs/", "https://gateway.irys.xyz/", "https://ipfs-forward.solanamint.io/ipfs/", "https://mypinata.cloud/ipfs/", ".mypinata.cloud/ipfs/",
	"https://pump.mypinata.cloud/ipfs/", "https://rapidlaunch.io/temp/metadata/", "https://eu-dev.uxento.io/data/", "https://dd.dexscreener.com/ds-data/tokens/solana/", "https://static.jup.ag/",
	"https://shdw-drive.genesysgo.net/", "https://ipfs.nftstorage.link/ipfs/", ".ipfs.nftstorage.link", "ipfs://", "ar://", ".ipfs.w3s.link", "https://bafybei", "https://bafkrei",
	"https://letsbonk.fun", "https://bonk.fun", "https://four.meme", "https://believe.app", "https://moonshot.money", "https://launch.meteora.ag",
	".jpg", ".jpeg", ".webp", ".gif", ".svg", ".fun", ".xyz", ".app", ".org", ".net", ".io/", ".site", "metadata", "image", "logo", "token", "Token",
	` the `, ` of `, ` and `, ` to `, ` is `, ` for `, ` in `, ` on `, ` with `, ` coin `, `Solana`, `solana`, `community`, `meme`, ` The `, `first `, `launch`, `pump`, `crypto`, `tion `, `ing `, `ment `, `world`,
	"raydium_launchlab", "meteora_dbc",
	`\u0026`, `\n`, `\"`, `. `, `, `,
}

// entry is a word of the dictionary, with two of its bytes that are compared before the whole word:
// the second byte, and the byte at offset. offset is that of the byte after "https://", with which
// many words begin, or of the last byte of a shorter word.
type entry struct{ second, offset, atOffset, number uint8 }

// wordsBy lists the dictionary's words by their first byte, the longest first.
var wordsBy = func() (table [256][]entry) {
	for n, word := range dictionary {
		offset := min(len("https://"), len(word)-1)
		table[word[0]] = append(table[word[0]], entry{word[1], uint8(offset), word[offset], uint8(n)})
	}
	for _, list := range table {
		slices.SortStableFunc(list, func(a, b entry) int { return len(dictionary[b.number]) - len(dictionary[a.number]) })
	}
	return table
}()

// wordAt returns the number of the longest word that text begins with.
func wordAt(text string) (uint8, bool) {
	if len(text) < 2 {
		return 0, false
	}
	for _, word := range wordsBy[text[0]] {
		if word.second == text[1] && int(word.offset) < len(text) && word.atOffset == text[word.offset] && strings.HasPrefix(text, dictionary[word.number]) {
			return word.number, true
		}
	}
	return 0, false
}

// A value in JSON begins after a word that opens it, which ends with `":"`, and ends before a word
// that closes it, which begins with a quote.
func opens(word string) bool  { return strings.HasSuffix(word, `":"`) }
func closes(word string) bool { return word[0] == '"' }

// hasControls returns whether text has a byte that the text packing uses as a code.
func hasControls(text string) bool {
	for i := range len(text) {
		if text[i] <= maxCode {
			return true
		}
	}
	return false
}
