module inkube.example/inkube

go 1.21
