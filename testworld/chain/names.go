package chain

import (
	"math/rand/v2"
	"strings"

	"github.com/mintlake/mintlake/testworld/layout"
)

var (
	nameAdjectives = []string{"Tidal", "Quiet", "Neon", "Lucky", "Turbo", "Sleepy", "Golden", "Feral", "Cosmic", "Tiny", "Grumpy", "Based",
		"Velvet", "Solar", "Frozen", "Wobbly", "Chrome", "Honest", "Rusty", "Spicy", "Astral", "Mega", "Pocket", "Northern", "Silent",
		"Electric", "Salty", "Royal", "Brave", "Molten", "Paper", "Glass", "Midnight", "Crimson", "Emerald", "Atomic"}
	nameNouns = []string{"Otter", "Frog", "Badger", "Heron", "Pigeon", "Walrus", "Lake", "Comet", "Goblin", "Wizard", "Turnip", "Noodle",
		"Rocket", "Penguin", "Cactus", "Ferret", "Moose", "Pickle", "Dragon", "Koala", "Lantern", "Mango", "Squid", "Toad", "Yak",
		"Falcon", "Biscuit", "Hamster", "Beacon", "Orchid", "Panda", "Quokka", "Raven", "Shrimp", "Tulip", "Viper"}
	nameSuffixes = []string{"", "", "", "", "", " Inu", " Coin", " Token", " AI", " DAO", " Protocol", " Finance", " on Solana", " 2.0"}
	nameMemes    = []string{"gm", "wen lambo", "number go up", "diamond paws", "touch grass", "it's over", "we're so back", "just a chill lake",
		"do not buy this", "send it", "probably nothing", "ser please", "fish that knows things", "cat but with hat", "rent free"}
	nameEmoji = []string{"🐸", "🚀", "🌊", "🦦", "🔥", "💎", "🐶", "🍜", "👑", "🧊", "🌈", "🫡"}
	nameCJK   = []string{"湖之币", "青蛙王", "月亮狗", "龙虾", "熊猫币", "招财猫", "にゃんコイン", "みずうみ", "たぬき", "고래코인", "호수", "도지왕", "雪狐", "银河"}
	nameOther = []string{"Жаба", "Медведь", "Ωmega", "Ñandú", "Größe", "Ørsted", "بحيرة", "ทะเลสาบ", "Žába"}
	// popular is what impersonators copy.
	popular = [][2]string{{"USD Coin", "USDC"}, {"Wrapped SOL", "SOL"}, {"Tether USD", "USDT"}, {"Bonk", "BONK"}, {"dogwifhat", "WIF"},
		{"Jupiter", "JUP"}, {"OFFICIAL TRUMP", "TRUMP"}, {"Fartcoin", "FARTCOIN"}, {"Raydium", "RAY"}, {"PayPal USD", "PYUSD"}, {"Pyth Network", "PYTH"}}
	// majors exist at genesis, the most traded first.
	majors = [][2]string{{"Mintlake", "LAKE"}, {"Tidal Otter", "OTTER"}, {"Dock Dog", "DOCK"}, {"Captain Frog", "CFROG"}, {"Harbor Protocol", "HRBR"},
		{"Marinated SOL", "marSOL"}, {"Blue Heron", "HERON"}, {"Plank", "PLANK"}, {"Sonar AI", "SONAR"}, {"Kelp Finance", "KELP"}, {"Anchorage", "ANCHR"},
		{"Gulls of Wall Street", "GULL"}, {"Reef", "REEF"}, {"Wave Index", "WAVE"}, {"Lighthouse", "LIGHT"}, {"Salt", "SALT"}, {"Minnow", "MNNW"},
		{"Pearl Diver", "PEARL"}, {"Drift Wood", "DRWD"}, {"Foam", "FOAM"}, {"Barnacle", "BRNCL"}, {"Old Boot", "BOOT"}}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// inventName makes a token's name and symbol within Metaplex's limits (32 and 10 bytes).
func inventName(r *rand.Rand) (name, symbol string) {
	switch p := r.IntN(100); {
	case p < 8:
		c := pick(r, popular)
		name, symbol = c[0], c[1]
		if r.IntN(3) == 0 {
			name = strings.ToUpper(name)
		}
	case p < 12:
		c := pick(r, majors)
		name, symbol = c[0], c[1]
	case p < 20:
		name = pick(r, nameMemes)
		symbol = initials(name)
	case p < 26:
		name = pick(r, nameCJK)
		symbol = name
		if r.IntN(2) == 0 {
			symbol = letters(r, 4)
		}
	case p < 30:
		name = pick(r, nameOther)
		symbol = letters(r, 4)
	case p < 38:
		e := pick(r, nameEmoji)
		name = e + " " + pick(r, nameNouns) + " " + e
		symbol = e + letters(r, 3)
	default:
		noun := pick(r, nameNouns)
		name = pick(r, nameAdjectives) + " " + noun + pick(r, nameSuffixes)
		symbol = strings.ToUpper(noun)
		if r.IntN(3) == 0 {
			symbol = letters(r, 3+r.IntN(3))
		}
	}
	return clip(name, layout.MetaplexNameLen), clip(symbol, layout.MetaplexSymbolLen)
}

func initials(s string) string {
	var b strings.Builder
	for w := range strings.FieldsSeq(s) {
		b.WriteByte(w[0])
	}
	return strings.ToUpper(b.String())
}

func letters(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('A' + r.IntN(26))
	}
	return string(b)
}

// clip cuts s to n bytes at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := 0
	for i := range s {
		if i > n {
			break
		}
		cut = i
	}
	return s[:cut]
}
