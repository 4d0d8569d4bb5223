package registry

// registerNames are the names of the registers in ClickHouse's views, indexed by number. There is
// no register 0.
var registerNames = [...]string{ //nolint:gosec // the names of authorities are no credentials
	RegisterProgram: "program", RegisterDecimals: "decimals", RegisterSupply: "supply", RegisterSupplyDelta: "supply_delta",
	RegisterMintAuthority: "mint_authority", RegisterFreezeAuthority: "freeze_authority",
	RegisterMetaplexName: "metaplex_name", RegisterMetaplexSymbol: "metaplex_symbol", RegisterMetaplexURI: "metaplex_uri",
	RegisterMetaplexUpdateAuthority: "metaplex_update_authority", RegisterSellerFeeBasisPoints: "seller_fee_basis_points", RegisterTokenStandard: "token_standard",
	RegisterToken2022Name: "token22_name", RegisterToken2022Symbol: "token22_symbol", RegisterToken2022URI: "token22_uri",
	RegisterToken2022UpdateAuthority: "token22_update_authority", RegisterMetadataPointer: "metadata_pointer", RegisterExtension: "extension",
	RegisterOffchain: "off_chain", RegisterLogo: "logo", RegisterFirstSeen: "first_seen", RegisterLastSeen: "last_seen", RegisterClosed: "closed",
	RegisterTokenList: "token_list", RegisterToken2022Field: "token22_field", RegisterLogoOverride: "logo_override",
	RegisterLaunchpad: "launchpad", RegisterCreator: "creator", RegisterGraduated: "graduated",
	RegisterRetraction: "retraction",
}

// Name returns the register's name in snake case; empty if the number is not a register's.
func (r Register) Name() string {
	if int(r) >= len(registerNames) {
		return ""
	}
	return registerNames[r]
}
