module example.com/dynamo-operator

go 1.24
