"""A LaTeX paper for tests, as files and as the tar.gz that arXiv would serve."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

from pdf_maker import Page, make_pdf

MAIN = r"""\documentclass{article}
\usepackage{amsmath} % a comment
\newcommand{\ours}{GridNet\xspace}
\newcommand{\bx}{\mathbf{x}}
\newcommand{\norm}[1]{\left\|#1\right\|}
\def\be{\begin{equation}}
\def\ee{\end{equation}}
\title[short]{Small Grids for\\ Large Equations\thanks{Funded by nobody.}}
\author{A. Author}
\begin{document}
\maketitle
\begin{abstract}
We present \ours{}, which is 70\% cheaper. % not \emph{this}
\end{abstract}
\input{sections/method}
%\input{sections/secret}
\include{sections/experiments}
\section{Acknowledgements}
We thank the reviewers.
\bibliographystyle{plain}
\bibliography{refs}
\appendix
\section{Proof of Theorem 1}
It is obvious.
\subsection{A lemma}
More so.
\section{Training details}
The learning rate is $10^{-3}$.
\end{document}
"""

METHOD = r"""\section{Method}\label{sec:method}
Let $\bx\in\mathbb{R}^{d}$ be given~\citep[see][Sec.~2]{cao2021,li2020}.
The loss is
\be\label{eq:loss}
  L(\theta) = \frac{1}{N}\sum_{i=1}^{N} \norm{f_\theta(\bx_i) - y_i}^2
\ee
and, as in Eq.~\eqref{eq:loss},
\begin{align*}
  a &= b \\ % the first
  c &= d
\end{align*}
\begin{itemize}
  \item one \textbf{bold} thing
  \item another:
  \begin{enumerate}\item inner \item second\end{enumerate}
\end{itemize}
\iffalse Nothing to see. \fi
Costs are 5\% lower; see \url{https://example.org/a%20b}. Written \verb|x%y|.
"""

EXPERIMENTS = r"""\section{Experiments}
\begin{table}[t]
\caption{Relative error of \ours, lower is better.}\label{tab:main}
\begin{tabular}{l|cc}
\toprule
Model & \multicolumn{2}{c}{Error} \\ \cmidrule{2-3}
 & Darcy & Pipe \\ \midrule
FNO~\cite{li2020} & 0.0108 & 0.0067 \\
\ours & \textbf{0.0065} & 0.0050 \\ \bottomrule
\end{tabular}
\end{table}
\begin{figure}
\centering\includegraphics[width=\linewidth]{figures/error}
\caption{The error falls.}\label{fig:error}
\end{figure}
Erd\H{o}s and Schr\"odinger agree---really. It's ``quoted''.
\begin{algorithm}\begin{algorithmic}\STATE $x \gets 0$\end{algorithmic}\end{algorithm}
"""

BBL = r"""\begin{thebibliography}{2}
\providecommand{\natexlab}[1]{#1}
\bibitem[Cao(2021)]{cao2021}
Shuhao Cao.
\newblock Choose a transformer: {F}ourier or {G}alerkin.
\newblock In \emph{NeurIPS}, 2021.

\bibitem[{Li} et~al.(2020){Li}, {Kovachki}, and {Anandkumar}]{li2020}
Zongyi {Li}, Nikola Kovachki, and Anima Anandkumar.
\newblock Fourier neural operator for parametric partial
  differential equations.
\newblock \emph{arXiv preprint arXiv:2010.08895}, 2020.
\end{thebibliography}
"""

BIB = r"""@string{neurips = {NeurIPS}}
@inproceedings{cao2021, title={Choose a Transformer: {F}ourier or {G}alerkin}, author={Cao, Shuhao},
  booktitle=neurips, year=2021}
@comment{nothing}
@article{uncited, title="Never cited", author={Nobody, N.}, year={1999}}
@misc{li2020, title = "Fourier Neural Operator", author={Li, Zongyi and Kovachki, Nikola}, eprint={2010.08895},
  archivePrefix={arXiv}, year = 2020}
@article{broken, title={
"""


def figure_pdf() -> bytes:
    return make_pdf([Page().box(50, 50, 400, 300).line(60, 60, "error")])


FILES: dict[str, bytes] = {
    "main.tex": MAIN.encode(),
    "sections/method.tex": METHOD.encode(),
    "sections/experiments.tex": EXPERIMENTS.encode(),
    "sections/secret.tex": b"SECRET",
    "refs.bib": BIB.encode(),
    "main.bbl": BBL.encode(),
    "figures/error.pdf": figure_pdf(),
    "supplement_template.tex": b"\\documentclass{article}\\begin{document}Template\\end{document}",
}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def tar_gz(files: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    """A tar.gz of `files`, and of symbolic `links` by name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return out.getvalue()


def gz(data: bytes) -> bytes:
    return gzip.compress(data)
