package swap

// listed is a venue that clients may name.
type listed struct {
	// Name is the venue's name in the swaps table. Label is the name that other routers use.
	Name, Label string
}

// catalogue lists the venues that clients may name. GET /api/v2/venues shows those that this server
// does not quote as unverified.
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

// venueNamed returns the name of a venue that is given by name or label.
func venueNamed(text string) (string, bool) {
	for _, v := range catalogue {
		if text == v.Name || text == v.Label {
			return v.Name, true
		}
	}
	return "", false
}

// label returns the label of a venue; its name if it has none.
func label(name string) string {
	for _, v := range catalogue {
		if v.Name == name {
			return v.Label
		}
	}
	return name
}
