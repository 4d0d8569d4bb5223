package schemas

// Names of launchpads, as events and tokens show them.
const (
	LaunchpadPump      = "pump"
	LaunchpadLaunchLab = "raydium_launchlab"
	LaunchpadDBC       = "meteora_dbc"
)

// Launchpads returns the names of all launchpads, sorted.
func Launchpads() []string { return []string{LaunchpadDBC, LaunchpadPump, LaunchpadLaunchLab} }
