r"""The kubelet's gRPC interfaces to a DRA driver: our own .proto files and the stubs made from them.

Written from the field tables of the kubelet's plugin registration and DRA plugin interfaces; the
stubs beside them are generated and committed, and need the extra `kubelet` of dra-shared. After a
change of a .proto file, from the root of the repository:

    python -m grpc_tools.protoc -I shared --python_out=shared --pyi_out=shared \\
        --grpc_python_out=shared shared/dra_shared/kubelet_api/*.proto

Nothing else written by hand belongs here.
"""
