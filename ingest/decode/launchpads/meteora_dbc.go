package launchpads

import "github.com/mintlake/mintlake/schemas"

// meteoraDBC reads Meteora's dynamic bonding curve. Sites launch tokens on it with a configuration
// of their own.
//
// Layouts: the program's source (MeteoraAg/dynamic-bonding-curve, initialize_pool and migration).
func meteoraDBC() Launchpad {
	const config, creator, mint, pool = 0, 2, 3, 5
	l := Launchpad{Name: schemas.LaunchpadDBC, Program: "dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN", instructions: []ins{
		graduate("migration_damm_v2", 13, 4), graduate("migrate_meteora_damm", 7, 4),
	}}
	for _, name := range []string{
		"initialize_virtual_pool_with_spl_token", "initialize_virtual_pool_with_spl_token2", "initialize_virtual_pool_with_token2022", "initialize_virtual_pool_with_token2022_2",
		"initialize_virtual_pool_with_token2022_transfer_hook", "initialize_virtual_pool_with_token2022_transfer_hook2",
	} {
		l.instructions = append(l.instructions, launch(name, mint, pool, creator, config))
	}
	return l
}
