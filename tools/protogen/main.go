// Command protogen generates the Go code of the protobuf schemas without a protoc binary:
// protocompile parses the files and protoc-gen-go's own generator writes them, both at the versions
// that go.mod pins.
//
//	go run ./tools/protogen proto mintlake/events/v1/events.proto
//
// The first argument is the import root; generated files go where their go_package says, relative
// to the module's root.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	gengo "google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const module = "github.com/mintlake/mintlake/"

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: protogen IMPORT_ROOT FILE.proto...")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func generate(root string, files []string) error {
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{root}},
		SourceInfoMode: protocompile.SourceInfoStandard, // comments become Go comments
	}
	compiled, err := compiler.Compile(context.Background(), files...)
	if err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	var descriptors []*descriptorpb.FileDescriptorProto
	for _, file := range compiled {
		descriptors = append(descriptors, protoutil.ProtoFromFileDescriptor(file))
	}
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{FileToGenerate: files, ProtoFile: descriptors})
	if err != nil {
		return fmt.Errorf("prepare generator: %w", err)
	}
	for _, file := range plugin.Files {
		if file.Generate {
			gengo.GenerateFile(plugin, file)
		}
	}
	return write(plugin.Response())
}

func write(response *pluginpb.CodeGeneratorResponse) error {
	if response.Error != nil {
		return fmt.Errorf("generate: %s", response.GetError())
	}
	for _, file := range response.File {
		path := strings.TrimPrefix(file.GetName(), module)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
		if err := os.WriteFile(path, []byte(file.GetContent()), 0o600); err != nil {
			return fmt.Errorf("write generated file: %w", err)
		}
	}
	return nil
}
