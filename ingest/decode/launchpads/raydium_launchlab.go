package launchpads

import "github.com/mintlake/mintlake/schemas"

// raydiumLaunchLab reads Raydium's LaunchLab. Sites such as LetsBONK launch tokens on it with a
// platform configuration.
//
// Layouts: the program's IDL (raydium-io/raydium-idl raydium_launchpad).
func raydiumLaunchLab() Launchpad {
	const creator, config, pool, mint = 1, 3, 5, 6
	return Launchpad{Name: schemas.LaunchpadLaunchLab, Program: "LanMV9sAd7wArD4vJFi2qDdfnVhFxYSUg6eADduJ3uj", instructions: []ins{
		launch("initialize", mint, pool, creator, config), launch("initialize_v2", mint, pool, creator, config),
		launch("initialize_with_token_2022", mint, pool, creator, config),
		graduate("migrate_to_amm", 1, 13), graduate("migrate_to_cpswap", 1, 5),
	}}
}
