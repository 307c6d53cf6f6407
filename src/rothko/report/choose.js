(function(){
var panel=document.getElementById("chosen");
if(!panel)return;
var marks=document.querySelectorAll("svg a");
function copied(button,code){
function done(){button.textContent="Copied"}
function select(){getSelection().selectAllChildren(code);button.textContent="Selected"}
if(navigator.clipboard)navigator.clipboard.writeText(code.textContent).then(done,select);
else select()}
function choose(word){
var entry=document.getElementById(word);
if(!entry)return;
marks.forEach(function(a){
if(a.getAttribute("href")==="#"+word)a.setAttribute("aria-current","true");
else a.removeAttribute("aria-current")});
panel.replaceChildren.apply(panel,Array.from(entry.children).map(function(one){return one.cloneNode(true)}));
var title=document.createElement("b");
title.textContent=panel.firstChild.textContent;
panel.replaceChild(title,panel.firstChild);
var code=panel.querySelector("code"),button=document.createElement("button");
button.type="button";button.textContent="Copy the command";
button.addEventListener("click",function(){copied(button,code)});
panel.appendChild(button)}
document.addEventListener("click",function(e){
var a=e.target.closest&&e.target.closest("svg a");
if(!a)return;
e.preventDefault();
choose(a.getAttribute("href").slice(1));
panel.scrollIntoView({block:"nearest"})});
})();
