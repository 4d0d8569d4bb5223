// Command config prints docker-compose.yml as Compose resolves it with an environment file, by the
// library that Docker Compose itself reads it with. It takes seconds to build; Docker Compose takes
// minutes.
//
//	config ENV_FILE             the whole model, as `docker compose config`
//	config ENV_FILE --services  the names of its services
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || len(args) > 2 || len(args) == 2 && args[1] != "--services" {
		return fmt.Errorf("usage: config ENV_FILE [--services], not %q", args)
	}
	// The order is Docker Compose's: what is set later overrides, and profiles are read last.
	options, err := cli.NewProjectOptions(nil, cli.WithOsEnv, cli.WithEnvFiles(args[0]), cli.WithDotEnv, cli.WithConfigFileEnv,
		cli.WithDefaultConfigPath, cli.WithDefaultProfiles())
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	if len(args) == 2 {
		names := project.ServiceNames()
		slices.Sort(names)
		for _, name := range names {
			fmt.Println(name)
		}
		return nil
	}
	text, err := project.MarshalYAML()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}
