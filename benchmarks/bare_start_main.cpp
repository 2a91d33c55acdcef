// bench_bare_start: the bare limit of starting a program: it does nothing.
int main() { return 0; }
