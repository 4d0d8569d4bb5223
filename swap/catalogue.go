package swap

// listed is a venue that clients may name.
type listed struct {
	// Name is the venue's name in the swaps table. Label is the name that other routers use.
	Name, Label string
}

// catalogue lists the venues that clients may name. GET /api/v2/venues lists all of them. A venue
// that this server does not quote has the status unverified there.
var catalogue = []listed{
	{"raydium_cpmm", "Raydium CP"},
	{"raydium_amm_v4", "Raydium"},
	{"raydium_clmm", "Raydium CLMM"},
	{"pancakeswap_clmm", "PancakeSwap"},
	{"byreal_clmm", "Byreal"},
	{"stabble_clmm", "Stabble CLMM"},
	{"raydium_launchlab", "Raydium Launchlab"},
	{"pumpswap", "Pump.fun Amm"},
	{"pump_curve", "Pump.fun"},
	{"meteora_damm_v1", "Meteora"},
	{"meteora_damm_v2", "Meteora DAMM v2"},
	{"meteora_dbc", "Dynamic Bonding Curve"},
	{"meteora_dlmm", "Meteora DLMM"},
	{"orca_whirlpool", "Whirlpool"},
}

// venueNamed returns the name of the venue whose name or label is text, or false if there is none.
func venueNamed(text string) (string, bool) {
	for _, v := range catalogue {
		if text == v.Name || text == v.Label {
			return v.Name, true
		}
	}
	return "", false
}

// label returns the label of the venue with this name, or the name itself if the catalogue does not
// have it.
func label(name string) string {
	for _, v := range catalogue {
		if v.Name == name {
			return v.Label
		}
	}
	return name
}
