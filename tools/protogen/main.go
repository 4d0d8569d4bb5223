// Command protogen generates the Go code of the protobuf schemas without a protoc binary:
// protocompile parses the files and protoc-gen-go's own generator writes them, both at the versions
// that this folder's go.mod pins. It runs in the root of the repository:
//
//	go build -C tools/protogen -o ../../bin/protogen .
//	bin/protogen proto mintlake/events/v1/events.proto
//	bin/protogen -module MODULE -to FOLDER -grpc FOLDER geyser.proto
//
// The first argument is the import root. Generated files go where their go_package says, relative
// to the root of their module: this one, or that of -module, whose root is the folder -to. With
// -grpc the code of services is generated as well, by the plugin protoc-gen-go-grpc at the version
// that tools/clientgen/go.mod pins.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	gengo "google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

// target is the module that the generated code belongs to, and the folder of its root.
type target struct {
	module, folder string
	grpc           bool
}

func main() {
	var to target
	flag.StringVar(&to.module, "module", "github.com/mintlake/mintlake", "module of the generated code")
	flag.StringVar(&to.folder, "to", ".", "folder of the module's root")
	flag.BoolVar(&to.grpc, "grpc", false, "generate services too")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: protogen [-module MODULE -to FOLDER] [-grpc] IMPORT_ROOT FILE.proto...")
		os.Exit(2)
	}
	if err := to.generate(flag.Arg(0), flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func (t target) generate(root string, files []string) error {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments become Go comments
	}
	compiled, err := compiler.Compile(context.Background(), files...)
	if err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: files}
	seen := map[string]bool{}
	var add func(file protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) { // what a file imports comes before it
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			add(file.Imports().Get(i).FileDescriptor)
		}
		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(file))
	}
	for _, file := range compiled {
		add(file)
	}
	plugin, err := protogen.Options{}.New(request)
	if err != nil {
		return fmt.Errorf("prepare generator: %w", err)
	}
	for _, file := range plugin.Files {
		if file.Generate {
			gengo.GenerateFile(plugin, file)
		}
	}
	if err := t.write(plugin.Response()); err != nil || !t.grpc {
		return err
	}
	services, err := services(request)
	if err != nil {
		return fmt.Errorf("generate services: %w", err)
	}
	return t.write(services)
}

// services runs protoc-gen-go-grpc, whose generator is no package that could be imported.
func services(request *pluginpb.CodeGeneratorRequest) (*pluginpb.CodeGeneratorResponse, error) {
	input, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	plugin := exec.Command("go", "tool", "-modfile=tools/clientgen/go.mod", "protoc-gen-go-grpc")
	plugin.Stdin, plugin.Stderr = bytes.NewReader(input), os.Stderr
	output, err := plugin.Output()
	if err != nil {
		return nil, err
	}
	response := &pluginpb.CodeGeneratorResponse{}
	return response, proto.Unmarshal(output, response)
}

func (t target) write(response *pluginpb.CodeGeneratorResponse) error {
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, file := range response.File {
		path := filepath.Join(t.folder, strings.TrimPrefix(file.GetName(), t.module+"/"))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
		if err := os.WriteFile(path, []byte(file.GetContent()), 0o600); err != nil {
			return fmt.Errorf("write generated file: %w", err)
		}
	}
	return nil
}
